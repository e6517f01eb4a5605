"""Between a change and production: what is built, what would change, who hears of it, what is deployed."""
