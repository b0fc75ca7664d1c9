import { randomBytes } from 'node:crypto'
import type { Authenticator } from '../../auth/authentication/authenticator.ts'
import { MASTERS } from '../../auth/user.ts'

export function componentTokens(): { authenticator: Authenticator; token: string } {
  const token = randomBytes(32).toString('hex')
  return {
    token,
    authenticator: {
      authenticate: ({ bearerToken }) =>
        Promise.resolve(
          bearerToken === token
            ? { user: { name: 'system:orch-server', groups: [MASTERS] } }
            : undefined,
        ),
    },
  }
}
