SELECT * FROM iterations WHERE id = ?1
