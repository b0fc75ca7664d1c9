/** The folder in which a Pod finds the token of its account, and the authority of the API server. */
export const ACCOUNT_FILES = '/var/run/secrets/orch.io/serviceaccount'
