-- Who may do what, applied after the migrations by a role that may manage roles. Safe to run again.
-- writ_owner owns everything and cannot log in; writ_app is what the service runs as.

DO $$
DECLARE
  object record;
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'writ_owner') THEN
    BEGIN
      CREATE ROLE writ_owner NOLOGIN;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN
      NULL;  -- roles belong to the cluster: another database was quicker
    END;
  END IF;
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'writ_app') THEN
    BEGIN
      CREATE ROLE writ_app LOGIN;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN
      NULL;  -- roles belong to the cluster: another database was quicker
    END;
  END IF;
  IF NOT pg_has_role(current_user, 'writ_owner', 'MEMBER') THEN
    EXECUTE format('GRANT writ_owner TO %I', current_user);
  END IF;
  EXECUTE format('GRANT CREATE ON DATABASE %I TO writ_owner', current_database());
  ALTER SCHEMA writ OWNER TO writ_owner;
  ALTER SCHEMA writ_build OWNER TO writ_owner;
  -- Only where it changes anything: it takes a lock that waits for every reader, and stops the next ones.
  FOR object IN SELECT c.oid::regclass AS name FROM pg_class c
                WHERE c.relnamespace = 'writ'::regnamespace AND c.relkind = 'r'
                  AND c.relowner <> 'writ_owner'::regrole LOOP
    EXECUTE format('ALTER TABLE %s OWNER TO writ_owner', object.name);
  END LOOP;
  FOR object IN SELECT p.oid::regprocedure AS name FROM pg_proc p
                WHERE p.pronamespace = 'writ'::regnamespace
                  AND p.proowner <> 'writ_owner'::regrole LOOP
    EXECUTE format('ALTER FUNCTION %s OWNER TO writ_owner', object.name);
  END LOOP;
END $$;

GRANT USAGE ON SCHEMA writ TO writ_app;
GRANT USAGE, CREATE ON SCHEMA writ_build TO writ_app;
REVOKE ALL ON ALL TABLES IN SCHEMA writ FROM writ_app, PUBLIC;
GRANT SELECT, INSERT ON events, commands, tiles TO writ_app;
GRANT SELECT, UPDATE ON log_head TO writ_app;
GRANT SELECT ON schema_info TO writ_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON projections, builds, settings, changed_paths TO writ_app;
