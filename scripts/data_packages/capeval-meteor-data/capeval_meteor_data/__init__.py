"""Word tables of METEOR, found automatically by capeval."""
