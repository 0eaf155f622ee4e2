"""Where commands run that nobody trusts: the contract, what both kinds of sandbox share, and a folder for each kind."""
