"""How long a test waits for an event before it fails: only for what never comes, however busy the machine is."""
PATIENCE_S = 300
