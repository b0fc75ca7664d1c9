import { readFileSync } from 'node:fs'
import type { RequestOptions } from 'node:https'

/** The folder in which a Pod finds the token of its account, and the authority of the API server. */
export const ACCOUNT_FILES = '/var/run/secrets/orch.io/serviceaccount'

/** The options of a request that is sent as the account of the Pod: its token, and the authority of the API server. */
export function accountOptions(): RequestOptions {
  const token = readFileSync(`${ACCOUNT_FILES}/token`, 'utf8')
  const authorization = `Bearer ${token}`
  return {
    ca: readFileSync(`${ACCOUNT_FILES}/ca.crt`),
    headers: { connection: 'close', authorization },
  }
}
