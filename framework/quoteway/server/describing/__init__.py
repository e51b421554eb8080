"""What ``quoteway describe`` does: finds the roles of a call's arguments and proves them by simulation."""
