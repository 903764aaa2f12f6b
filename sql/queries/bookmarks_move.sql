-- Never back: two may read at once.
INSERT INTO bookmarks (reader, seq) VALUES (?1, ?2) ON CONFLICT (reader) DO UPDATE SET seq = excluded.seq WHERE excluded.seq > bookmarks.seq
