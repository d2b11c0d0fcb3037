package run

// Headless carries out a prompt and shows what comes of it, as `troupe -p` does.
var Headless = headless
