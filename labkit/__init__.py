"""What the commands share: run the checks of a lab against a folder, judge what was seen, report it."""
