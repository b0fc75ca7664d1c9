import { readFile } from 'node:fs/promises'
import type { Authenticator } from '../../auth/authentication/authenticator.ts'
import { staticTokens } from '../../auth/authentication/static-tokens.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { type Followed, type FollowedFilesOptions, followFiles } from './followed-files.ts'

/**
 * Authenticates the users of a file of tokens, whose changes are followed.
 * @throws NP_AUTH_TOKEN_FILE
 */
export function followTokenFile(
  path: string,
  parts: Pick<FollowedFilesOptions<string, Authenticator>, 'clock' | 'log'>,
): Promise<Followed<Authenticator>> {
  return followFiles({
    ...parts,
    read: () => readText(path),
    parse: (text) => staticTokens(text, path),
    what: 'the file of tokens',
  })
}

/**
 * Reads the file once.
 * @throws NP_AUTH_TOKEN_FILE
 */
export async function readTokenFile(path: string): Promise<Authenticator> {
  return staticTokens(await readText(path), path)
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    throw new NodeProxyError('NP_AUTH_TOKEN_FILE', `${path} cannot be read: ${String(cause)}`, {
      object: path,
      hint: 'check the path and the permissions (--token-auth-file)',
      cause,
    })
  }
}
