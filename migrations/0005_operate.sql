-- What an operator's commands need beyond the rights of the service: a read model's table is built
-- anew beside the live one and takes its place, and the content of one event is erased.
--
-- The functions run with the rights of the tables' owner. Whoever may append may call them.

-- A build that goes on: what a killed one left is picked up by the next.
CREATE TABLE builds (
  projection    text    COLLATE "C" PRIMARY KEY,
  version       integer NOT NULL,           -- of its fold
  first_head    bigint  NOT NULL,           -- the head when it began; its first pass ends there
  after_stream  text    COLLATE "C",        -- how far the first pass is; NULL once it is through
  events        bigint  NOT NULL DEFAULT 0, -- that the first pass is through with
  position      bigint  NOT NULL            -- all events up to here are in, after the first pass
);

DO $$
DECLARE
  part  record;
BEGIN
  -- For those who keep the rights themselves: who may move read models may build them.
  FOR part IN SELECT privilege_type AS what,
                     CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END AS who
              FROM pg_class, aclexplode(relacl)
              WHERE oid = 'projections'::regclass AND grantee <> relowner LOOP
    EXECUTE format('GRANT %s ON builds TO %s', part.what, part.who);
  END LOOP;
END $$;

CREATE FUNCTION check_may_append() RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT has_table_privilege(session_user, 'writ.events', 'INSERT') THEN
    RAISE EXCEPTION 'only who may append may do this' USING ERRCODE = 'insufficient_privilege';
  END IF;
END $$;

-- What a table is made of, for comparing two.
CREATE FUNCTION columns_of(of_table regclass) RETURNS text LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp AS $$
  SELECT string_agg(format('%I %s', attname, format_type(atttypid, atttypmod)), ', ' ORDER BY attnum)
  FROM pg_attribute WHERE attrelid = of_table AND attnum > 0 AND NOT attisdropped
$$;

-- Makes writ_build.X, as the live table writ.X is: columns, constraints, indexes and their names,
-- options, owner, rights. False when a build of this version is there already, to go on with.
CREATE FUNCTION begin_build(of_projection text, of_version integer, first_pass boolean)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  live     regclass := to_regclass(format('writ.%I', of_projection));
  built    regclass := to_regclass(format('writ_build.%I', of_projection));
  options  text;
  part     record;
BEGIN
  PERFORM writ.check_may_append();
  IF live IS NULL OR NOT EXISTS (SELECT FROM writ.projections WHERE name = of_projection) THEN
    RAISE EXCEPTION 'there is no projection named %', of_projection USING ERRCODE = 'no_data_found';
  END IF;
  IF built IS NOT NULL
     AND EXISTS (SELECT FROM writ.builds b WHERE b.projection = of_projection AND b.version = of_version)
     AND writ.columns_of(built) = writ.columns_of(live)
     AND (SELECT count(DISTINCT relowner) FROM pg_class WHERE oid IN (live, built)) = 1 THEN
    RETURN false;
  END IF;
  EXECUTE format('DROP TABLE IF EXISTS writ_build.%I', of_projection);
  SELECT string_agg(o, ', ') INTO options
  FROM pg_class, unnest(array_append(reloptions, 'autovacuum_enabled=false')) o WHERE oid = live;
  -- Autovacuum would be in the way of the switch.
  EXECUTE format('CREATE TABLE writ_build.%I (LIKE %s INCLUDING ALL EXCLUDING INDEXES) WITH (%s)',
                 of_projection, live, options);
  FOR part IN SELECT format('ADD CONSTRAINT %I %s', conname, pg_get_constraintdef(oid)) AS what
              FROM pg_constraint WHERE conrelid = live AND contype IN ('p', 'u') LOOP
    EXECUTE format('ALTER TABLE writ_build.%I %s', of_projection, part.what);
  END LOOP;
  FOR part IN SELECT replace(pg_get_indexdef(indexrelid), format(' ON %s ', live),
                             format(' ON writ_build.%I ', of_projection)) AS what
              FROM pg_index WHERE indrelid = live
              AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid) LOOP
    EXECUTE part.what;
  END LOOP;
  EXECUTE format('ALTER TABLE writ_build.%I OWNER TO %I', of_projection,
                 (SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = live));
  FOR part IN SELECT privilege_type AS what,
                     CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END AS who
              FROM pg_class, aclexplode(relacl) WHERE oid = live AND grantee <> relowner LOOP
    EXECUTE format('GRANT %s ON writ_build.%I TO %s', part.what, of_projection, part.who);
  END LOOP;
  DELETE FROM writ.builds WHERE projection = of_projection;
  INSERT INTO writ.builds (projection, version, first_head, after_stream, position)
  SELECT of_projection, of_version, position, CASE WHEN first_pass THEN '' END, 0 FROM writ.log_head;
  RETURN true;
END $$;

-- Statistics for the table that is about to go live.
CREATE FUNCTION analyze_build(of_projection text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM writ.check_may_append();
  EXECUTE format('ANALYZE writ_build.%I', of_projection);
END $$;

-- Puts the built table in the place of the live one. The caller holds what keeps both still, and
-- has them at the same position.
CREATE FUNCTION finish_build(of_projection text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  live   regclass := to_regclass(format('writ.%I', of_projection));
  built  regclass := to_regclass(format('writ_build.%I', of_projection));
BEGIN
  PERFORM writ.check_may_append();
  IF NOT EXISTS (SELECT FROM writ.builds WHERE projection = of_projection) OR built IS NULL
     OR (SELECT count(DISTINCT relowner) FROM pg_class WHERE oid IN (live, built)) <> 1 THEN
    RAISE EXCEPTION 'there is no build of %', of_projection USING ERRCODE = 'no_data_found';
  END IF;
  EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', live);
  EXECUTE format('ALTER TABLE %s RESET (autovacuum_enabled)', built);
  EXECUTE format('DROP TABLE %s', live);
  EXECUTE format('ALTER TABLE writ_build.%I SET SCHEMA writ', of_projection);
  DELETE FROM writ.builds WHERE projection = of_projection;
END $$;

-- Erases the payload and the salt of one event. The newest event of the stream `log` must say so
-- already. Answers '' when it is done, else why not: `missing`, `log`, `erased` or `newest`.
CREATE FUNCTION erase_event(of_position bigint) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  recorded  record;
  target    record;
BEGIN
  PERFORM writ.check_may_append();
  SELECT position, type, envelope::jsonb -> 'detail' ->> 'erased_position' AS of INTO recorded
  FROM writ.events WHERE stream = 'log' ORDER BY version DESC LIMIT 1;
  IF (recorded.type, recorded.of) IS DISTINCT FROM ('log.erased', of_position::text) THEN
    RAISE EXCEPTION 'an erasure is recorded first' USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
  SELECT stream, version, payload INTO target FROM writ.events WHERE position = of_position;
  IF NOT FOUND OR of_position = recorded.position THEN RETURN 'missing'; END IF;
  IF target.stream = 'log' THEN RETURN 'log'; END IF;
  IF target.payload IS NULL THEN RETURN 'erased'; END IF;
  IF NOT EXISTS (SELECT FROM writ.events
                 WHERE stream = target.stream AND version = target.version + 1) THEN
    RETURN 'newest';
  END IF;
  UPDATE writ.events SET payload = NULL, payload_salt = NULL WHERE position = of_position;
  RETURN '';
END $$;

-- A program must know the event type `log.erased`.
UPDATE schema_info SET min_program = greatest(min_program, 2);
