-- What the planner is to think of streams and settings, whatever a sample of the moment says. Two indexes begin with
-- each of them; when a sample finds every stream but once, as after many scopes were made, the planner takes both for
-- equal and may read all of a stream, since grown by thousands of versions, for the one it wants.
ALTER TABLE events ALTER COLUMN stream SET (n_distinct = -0.1);
ALTER TABLE changed_paths ALTER COLUMN path SET (n_distinct = 20), ALTER COLUMN stream SET (n_distinct = -0.1);

-- A table that is built anew does not inherit that. As before, but for the loop.
CREATE OR REPLACE FUNCTION analyze_build(of_projection text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  part  record;
BEGIN
  PERFORM writ.check_may_append();
  FOR part IN SELECT format('ALTER TABLE writ_build.%I ALTER COLUMN %I SET (%s)', of_projection, attname, o) AS what
              FROM pg_attribute, unnest(attoptions) o
              WHERE attrelid = format('writ.%I', of_projection)::regclass AND o LIKE 'n\_distinct=%' LOOP
    EXECUTE part.what;
  END LOOP;
  EXECUTE format('ANALYZE writ_build.%I', of_projection);
END $$;

-- It holds from the next sample on: of a log that exists, now. (Of an empty table a sample would say that it stays so.)
DO $$
BEGIN
  IF EXISTS (SELECT FROM events) THEN
    ANALYZE events, changed_paths;
  END IF;
END $$;
