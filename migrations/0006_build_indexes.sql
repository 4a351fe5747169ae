-- A table that is built anew gets its rows first and its indexes after: sorting them all at once costs
-- a fraction of putting them in one by one. Both functions may be called again.

-- Takes the constraints and indexes off the table that is built.
CREATE FUNCTION drop_build_indexes(of_projection text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  built  regclass := format('writ_build.%I', of_projection);
  part   record;
BEGIN
  PERFORM writ.check_may_append();
  FOR part IN SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', built, conname) AS what
              FROM pg_constraint WHERE conrelid = built AND contype IN ('p', 'u') LOOP
    EXECUTE part.what;
  END LOOP;
  FOR part IN SELECT format('DROP INDEX %s', indexrelid::regclass) AS what
              FROM pg_index WHERE indrelid = built LOOP
    EXECUTE part.what;
  END LOOP;
END $$;

-- Gives it those that the live table has and it has not, under the same names.
CREATE FUNCTION add_build_indexes(of_projection text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  live   regclass := format('writ.%I', of_projection);
  built  regclass := format('writ_build.%I', of_projection);
  part   record;
BEGIN
  PERFORM writ.check_may_append();
  FOR part IN SELECT format('ALTER TABLE %s ADD CONSTRAINT %I %s', built, conname, pg_get_constraintdef(oid)) AS what
              FROM pg_constraint c WHERE conrelid = live AND contype IN ('p', 'u')
              AND NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = built AND conname = c.conname) LOOP
    EXECUTE part.what;
  END LOOP;
  FOR part IN SELECT replace(pg_get_indexdef(indexrelid), format(' ON %s ', live), format(' ON %s ', built)) AS what
              FROM pg_index i JOIN pg_class name ON name.oid = indexrelid
              WHERE indrelid = live AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)
              AND NOT EXISTS (SELECT FROM pg_index b JOIN pg_class n ON n.oid = b.indexrelid
                              WHERE b.indrelid = built AND n.relname = name.relname) LOOP
    EXECUTE part.what;
  END LOOP;
END $$;
