PRAGMA quick_check(100)
