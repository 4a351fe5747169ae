-- The Merkle tree over the log: its right edge beside the head, moved by every append, and its full
-- tiles. A partial tile is not stored: its hashes are leaf hashes of events, or roots of full tiles.

-- `frontier` has the hashes of the complete subtrees that the tree falls into, largest first.
-- `tree_size` says which tree they are of. A program that does not know the tree moves `position`
-- alone, and the check refuses that, also to one that was running while this step was applied.
ALTER TABLE log_head ADD COLUMN root bytea, ADD COLUMN frontier bytea, ADD COLUMN tree_size bigint;

CREATE TABLE tiles (
  level   integer NOT NULL CHECK (level >= 0),
  index   bigint  NOT NULL CHECK (index >= 0),
  hashes  bytea   NOT NULL CHECK (octet_length(hashes) = 8192),
  root    bytea   CHECK (octet_length(root) = 32),
  PRIMARY KEY (level, index)
);
-- Hashes do not compress. Out of line they leave the roots together, which partial tiles are made of.
ALTER TABLE tiles ALTER COLUMN hashes SET STORAGE EXTERNAL;

-- Grows the tree of a log that exists, one height after the other.
DO $$
DECLARE
  size      bigint := (SELECT position FROM log_head);
  height    integer := 0;
  width     bigint;
  peak      bytea;
  edge      bytea := '';
  top       bytea;
BEGIN
  IF (SELECT count(*) FROM events) <> size THEN
    RAISE EXCEPTION 'the log has a hole or no right head: % events, head %',
      (SELECT count(*) FROM events), size;
  END IF;
  CREATE TEMP TABLE node (index bigint, hash bytea) ON COMMIT DROP;
  CREATE TEMP TABLE parent (index bigint, hash bytea) ON COMMIT DROP;
  INSERT INTO node SELECT position - 1, leaf_hash FROM events;
  width := size;
  WHILE width > 0 LOOP
    IF height % 8 = 0 THEN
      UPDATE tiles SET root = node.hash FROM node
      WHERE tiles.level = height / 8 - 1 AND tiles.index = node.index;
      INSERT INTO tiles (level, index, hashes)
      SELECT height / 8, node.index / 256, string_agg(hash, ''::bytea ORDER BY node.index)
      FROM node WHERE node.index < width / 256 * 256 GROUP BY node.index / 256;
    END IF;
    IF width % 2 = 1 THEN
      SELECT hash INTO STRICT peak FROM node WHERE index = width - 1;
      edge := peak || edge;
      top := CASE WHEN top IS NULL THEN peak ELSE sha256('\x01'::bytea || peak || top) END;
    END IF;
    INSERT INTO parent
    SELECT index / 2, sha256('\x01'::bytea || hash || sibling)
    FROM (SELECT index, hash, lead(hash) OVER (ORDER BY index) AS sibling FROM node) pair
    WHERE index % 2 = 0 AND sibling IS NOT NULL;
    TRUNCATE node;
    INSERT INTO node SELECT * FROM parent;
    TRUNCATE parent;
    height := height + 1;
    width := width / 2;
  END LOOP;
  UPDATE log_head SET frontier = edge, root = coalesce(top, sha256('')), tree_size = size;
END $$;

ALTER TABLE tiles ALTER COLUMN root SET NOT NULL;
ALTER TABLE log_head
  ALTER COLUMN root SET NOT NULL, ALTER COLUMN frontier SET NOT NULL,
  ALTER COLUMN tree_size SET NOT NULL, ADD CHECK (tree_size = position);

CREATE TRIGGER tiles_no_change BEFORE UPDATE OR DELETE OR TRUNCATE ON tiles
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
ALTER TABLE tiles ENABLE ALWAYS TRIGGER tiles_no_change;

-- It must also know the event type `log.accepted`.
UPDATE schema_info SET min_program = greatest(min_program, 2);
