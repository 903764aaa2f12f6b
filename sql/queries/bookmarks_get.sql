SELECT seq FROM bookmarks WHERE reader = ?1
