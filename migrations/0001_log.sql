-- The write log and what the sequencer keeps beside it. The columns, their meaning and the
-- spelling of event types are frozen with the first event.

CREATE TABLE schema_info (
  version      integer NOT NULL,
  min_program  integer NOT NULL,
  only_row     boolean NOT NULL DEFAULT true UNIQUE CHECK (only_row)
);

CREATE TABLE events (
  position      bigint      PRIMARY KEY CHECK (position > 0),
  stream        text        COLLATE "C" NOT NULL,
  version       bigint      NOT NULL CHECK (version > 0),
  type          text        COLLATE "C" NOT NULL,
  recorded_at   timestamptz NOT NULL,
  actor         text        NOT NULL CHECK (actor <> ''),
  reason        text        NOT NULL,
  request_id    text        NOT NULL,
  command_id    uuid        NOT NULL,
  payload       text,
  payload_salt  bytea,
  envelope      text        NOT NULL,
  leaf_hash     bytea       NOT NULL,
  UNIQUE (stream, version),
  CHECK ((payload IS NULL) = (payload_salt IS NULL))
);
-- "This stream at position P" is one probe, however long the stream.
CREATE INDEX events_stream_position ON events (stream, position);

CREATE TABLE log_head (
  log_id       bytea       NOT NULL,
  epoch        bigint      NOT NULL,
  position     bigint      NOT NULL,
  recorded_at  timestamptz NOT NULL,
  only_row     boolean     NOT NULL DEFAULT true UNIQUE CHECK (only_row)
) WITH (fillfactor = 10);
INSERT INTO log_head (log_id, epoch, position, recorded_at)
VALUES (decode(replace(gen_random_uuid()::text, '-', ''), 'hex'), 1, 0, 'epoch');

CREATE TABLE commands (
  actor            text        COLLATE "C" NOT NULL,
  idempotency_key  text        COLLATE "C" NOT NULL,
  command_id       uuid        NOT NULL,
  fingerprint      bytea       NOT NULL,
  first_position   bigint      NOT NULL,
  last_position    bigint      NOT NULL,
  created_at       timestamptz NOT NULL,
  PRIMARY KEY (actor, idempotency_key)
);

CREATE TABLE projections (
  name      text    COLLATE "C" PRIMARY KEY,
  version   integer NOT NULL,
  position  bigint  NOT NULL
) WITH (fillfactor = 10);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the log is append-only: % on % is refused', TG_OP, TG_TABLE_NAME
    USING ERRCODE = 'object_not_in_prerequisite_state';
END $$;

-- The one change an event may see: its payload and salt are erased, together.
CREATE FUNCTION refuse_change_but_erasure() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  erased writ.events := OLD;
BEGIN
  erased.payload := NULL;
  erased.payload_salt := NULL;
  IF NEW IS DISTINCT FROM erased THEN
    RAISE EXCEPTION 'the log is append-only: UPDATE on events is refused'
      USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER events_no_delete BEFORE DELETE OR TRUNCATE ON events
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER events_no_update BEFORE UPDATE ON events
  FOR EACH ROW EXECUTE FUNCTION refuse_change_but_erasure();
CREATE TRIGGER commands_no_change BEFORE UPDATE OR DELETE OR TRUNCATE ON commands
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
ALTER TABLE events ENABLE ALWAYS TRIGGER events_no_delete;
ALTER TABLE events ENABLE ALWAYS TRIGGER events_no_update;
ALTER TABLE commands ENABLE ALWAYS TRIGGER commands_no_change;
