import type { Reply } from '../request/api-request.ts'

/** Minor versions of Kubernetes whose kubectl is known to work with this server. */
const KUBECTL_MINORS = { oldest: 20, newest: 36 } as const
/** The minor version of Kubernetes whose API types this server describes (`schema/table.json`). */
const SERVER_MINOR = 33
/** The User-Agent of kubectl: `kubectl/v1.33.1 (linux/amd64) kubernetes/…`. The group is the minor version. */
const KUBECTL_AGENT = /^kubectl\S*\/v1\.(\d{1,3})\./

/** The version that this server reports as `gitVersion` to every client other than kubectl. */
export const GIT_VERSION = gitVersion(SERVER_MINOR)

/**
 * The reply to `/version`, which depends on the header User-Agent. kubectl warns of a server whose minor version
 * differs from its own by more than one. Therefore the server reports to kubectl the minor version of this kubectl, or
 * the nearest one that is known to work (`KUBECTL_MINORS`).
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
  const kubectlMinor = KUBECTL_AGENT.exec(userAgent)?.[1]
  if (kubectlMinor === undefined) return SERVER_MINOR
  return Math.min(Math.max(Number(kubectlMinor), KUBECTL_MINORS.oldest), KUBECTL_MINORS.newest)
}

function gitVersion(minor: number): string {
  return `v1.${minor}.0+orch`
}
