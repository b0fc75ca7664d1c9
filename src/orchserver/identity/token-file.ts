import type { Authenticator } from '../../auth/authentication/authenticator.ts'
import { staticTokens } from '../../auth/authentication/static-tokens.ts'
import { readPem } from '../certificates/pem.ts'
import { type Followed, type FollowedFilesOptions, followFiles } from './followed-files.ts'

/**
 * The users of a file of tokens, as it is at the moment.
 * @throws NP_AUTH_TOKEN_FILE; NP_ORCHSERVER_CERTIFICATE where the file cannot be read
 */
export function followTokenFile(
  path: string,
  parts: Pick<FollowedFilesOptions<string, Authenticator>, 'clock' | 'log'>,
): Promise<Followed<Authenticator>> {
  return followFiles({
    ...parts,
    read: () => readPem(path),
    parse: (text) => staticTokens(text, path),
    what: 'the file of tokens',
  })
}
