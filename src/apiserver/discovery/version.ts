import type { Reply } from '../request/api-request.ts'

/** Minor versions of Kubernetes whose kubectl is known to work with this server. */
const KUBECTLS = { oldest: 20, newest: 36 } as const
/** The minor version whose types this server describes (`schema/table.json`). */
const MINOR = 33
const KUBECTL = /^kubectl\S*\/v1\.(\d{1,3})\./

/** The release of Kubernetes that clients take this server for, unless they are kubectl. */
export const GIT_VERSION = gitVersion(MINOR)

/**
 * The answer to `/version`. kubectl warns of a server whose minor version is not within one of its
 * own, so it reads its own, as far as it is one that works with this server.
 */
export function versionReply(userAgent: string): Reply {
  const minor = minorFor(userAgent)
  const body = Buffer.from(
    JSON.stringify({
      major: '1',
      minor: String(minor),
      gitVersion: gitVersion(minor),
      gitCommit: '',
      gitTreeState: 'clean',
      buildDate: '1970-01-01T00:00:00Z',
      goVersion: '',
      compiler: '',
      platform: 'linux',
    }),
  )
  return { code: 200, contentType: 'application/json', body: [body] }
}

function minorFor(userAgent: string): number {
  const own = KUBECTL.exec(userAgent)?.[1]
  if (own === undefined) return MINOR
  return Math.min(Math.max(Number(own), KUBECTLS.oldest), KUBECTLS.newest)
}

function gitVersion(minor: number): string {
  return `v1.${minor}.0+orch`
}
