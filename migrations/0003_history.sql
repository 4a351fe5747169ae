-- What makes each question about the past cheap, whatever the length of the log.

-- The changes of one actor. By -position, so that the planner cannot take the log's own order for it.
CREATE INDEX events_actor_position ON events (actor, (-position));
-- The changes of one domain and all its projects. The domain is the third part of the stream
-- settings/v1::domain:project.
CREATE INDEX events_domain_position ON events (split_part(stream, ':', 3), (-position));

-- The changes of one setting: each leaf that an event changed, and each entry of a map. Kept by a
-- projection that follows the log.
CREATE TABLE changed_paths (
  path      text    COLLATE "C" NOT NULL,
  position  bigint  NOT NULL,
  stream    text    COLLATE "C" NOT NULL,
  PRIMARY KEY (path, position)
);
CREATE INDEX changed_paths_stream ON changed_paths (stream, path, position);

INSERT INTO projections (name, version, position) VALUES ('changed_paths', 1, 0);
