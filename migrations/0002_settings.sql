-- The settings projection: what each scope stores now. `id` is the position of the creating event.

CREATE TABLE settings (
  id          bigint      PRIMARY KEY,
  key         text        COLLATE "C" NOT NULL UNIQUE,
  data        jsonb       NOT NULL,
  version     bigint      NOT NULL,
  created_at  timestamptz NOT NULL,
  updated_at  timestamptz NOT NULL
) WITH (fillfactor = 70);

INSERT INTO projections (name, version, position) VALUES ('settings', 1, 0);
