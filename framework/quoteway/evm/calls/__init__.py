"""What calls of contracts mean: the core reads every transaction itself, by the contract that it goes to."""
