import type { Reply } from '../request/api-request.ts'

/** Minor versions of Kubernetes whose kubectl is known to work with this server. */
const KUBECTL_MINORS = { oldest: 20, newest: 36 } as const
/** The minor version whose types this server describes (`schema/table.json`). */
const MINOR = 33
const KUBECTL_AGENT = /^kubectl\S*\/v1\.(\d{1,3})\./

/** The release of Kubernetes that this server reports to every client but kubectl. */
export const GIT_VERSION = gitVersion(MINOR)

/**
 * The answer to `/version`, by the header User-Agent. kubectl warns of a server whose minor version differs from its
 * own by more than one, so the server reports the minor version of the kubectl that requests it, limited to those
 * that are known to work.
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
  if (kubectlMinor === undefined) return MINOR
  return Math.min(Math.max(Number(kubectlMinor), KUBECTL_MINORS.oldest), KUBECTL_MINORS.newest)
}

function gitVersion(minor: number): string {
  return `v1.${minor}.0+orch`
}
