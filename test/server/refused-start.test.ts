import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { launcherOf } from '../support/programs.ts'

const PROGRAM = launcherOf('orch-server')

/** Runs the program to its end; what it says, its exit code, and whether it made a data directory. */
async function start(flagsIn: (folder: string) => readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'np-refused-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const dataDir = join(folder, 'data')
  const flags = [`--data-dir=${dataDir}`, '--secure-port=0', ...flagsIn(folder)]
  const { promise, resolve } = Promise.withResolvers<{ code: unknown; said: string }>()
  execFile(PROGRAM, flags, { timeout: 20_000, killSignal: 'SIGKILL' }, (error, stdout, stderr) =>
    resolve({ code: error?.code ?? error?.signal ?? 0, said: stdout + stderr }),
  )
  return { ...(await promise), isMade: existsSync(dataDir) }
}

const foreign = (folder: string): string => {
  const path = join(folder, 'kubeconfig')
  writeFileSync(path, 'kind: Config\n')
  return path
}
const noPem = (folder: string): string => {
  const path = join(folder, 'cert.pem')
  writeFileSync(path, 'none')
  return path
}

const wrongPolicy = (folder: string): readonly string[] => {
  const path = join(folder, 'policy.yaml')
  const rule = '  - level: Metdata\n'
  writeFileSync(path, `apiVersion: audit.orch.io/v1\nkind: Policy\nrules:\n${rule}`)
  return [`--audit-policy-file=${path}`, `--audit-log-path=${join(folder, 'data', 'audit.log')}`]
}
const rightPolicy = fileURLToPath(new URL('../../config/audit-policy.yaml', import.meta.url))

test.each<readonly [string, string, (folder: string) => readonly string[]]>([
  ['an unknown flag', 'NP_ORCHSERVER_FLAG', () => ['--nonsense']],
  [
    'a missing certificate',
    'NP_ORCHSERVER_CERTIFICATE',
    () => ['--tls-cert-file=/no/such', '--tls-private-key-file=/no/such'],
  ],
  [
    'a certificate that is none',
    'NP_ORCHSERVER_CERTIFICATE',
    (folder) => [`--tls-cert-file=${noPem(folder)}`, `--tls-private-key-file=${noPem(folder)}`],
  ],
  [
    'a missing authority of etcd',
    'NP_ORCHSERVER_ETCD_FILE',
    () => ['--etcd-servers=https://127.0.0.1:1', '--etcd-cafile=/no/such'],
  ],
  [
    'an endpoint of etcd that is none',
    'NP_ORCHSERVER_FLAG',
    () => ['--etcd-servers=http://127.0.0.1:1/path'],
  ],
  ['a missing key of tokens', 'NP_AUTH_KEY', () => ['--service-account-key-file=/no/such']],
  ['a missing file of tokens', 'NP_AUTH_TOKEN_FILE', () => ['--token-auth-file=/no/such']],
  [
    'a missing authority of clients',
    'NP_ORCHSERVER_CERTIFICATE',
    () => ['--client-ca-file=/no/such'],
  ],
  [
    'a provider without a client id',
    'NP_ORCHSERVER_CONFIG_CONFLICT',
    () => ['--oidc-issuer-url=https://id.example'],
  ],
  [
    'a missing file of encryption keys',
    'NP_ORCHSERVER_ENCRYPTION_FILE',
    () => ['--encryption-key-file=/no/such'],
  ],
  [
    'a file of encryption keys that has none',
    'NP_ORCHSERVER_ENCRYPTION_FILE',
    (folder) => [`--encryption-key-file=${noPem(folder)}`],
  ],
  [
    'a kubeconfig of another program',
    'NP_ORCHSERVER_KUBECONFIG',
    (folder) => [`--write-kubeconfig=${foreign(folder)}`],
  ],
  [
    'an audit policy that is none',
    'policy.yaml:4:12: rules[0].level: "Metdata": write None',
    wrongPolicy,
  ],
  [
    'a missing audit policy',
    'NP_APISERVER_AUDIT_POLICY',
    () => ['--audit-policy-file=/no/such', '--audit-log-path=-'],
  ],
  [
    'an audit webhook without its kubeconfig',
    'NP_CLIENT_KUBECONFIG',
    () => [`--audit-policy-file=${rightPolicy}`, '--audit-webhook-config-file=/no/such'],
  ],
  [
    'a path that is too long for the socket',
    'NP_ORCHSERVER_SOCKET',
    (folder) => [`--data-dir=${join(folder, 'x'.repeat(200), 'data')}`],
  ],
])('%s is refused with exit code 2, and nothing is made', async (_what, reason, flags) => {
  const { code, said, isMade } = await start(flags)
  expect(said).toContain(reason)
  expect([code, isMade]).toEqual([2, false])
})
