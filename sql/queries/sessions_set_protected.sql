UPDATE sessions SET protected = ?2 WHERE id = ?1 AND protected IS NULL
