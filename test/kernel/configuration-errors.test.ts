import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { proxyMode } from '../support/lab/daemon-config.ts'
import { createLab, type Lab } from '../support/lab/lab.ts'
import { netState } from '../support/lab/net-state.ts'
import { netSysctls } from '../support/lab/net-sysctls.ts'
import { startProcess } from '../support/lab/process.ts'
import { asUser } from '../support/other-user.ts'
import { launcherOf } from '../support/programs.ts'

/** A start that cannot succeed is refused with exit code 2 before anything of the kernel is touched. */
let lab: Lab
let folder: string
let before: Awaited<ReturnType<typeof look>>
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'np-configuration-'))
  chmodSync(folder, 0o755)
  lab = await createLab()
  before = await look()
})
afterAll(async () => {
  await lab?.close()
  rmSync(folder, { recursive: true })
})

const LAUNCHER = launcherOf('node-proxy')
const UNPRIVILEGED_UID = 65_534

/** A kubeconfig with these fields of its cluster and its user; the path of the file. */
function kubeconfig(cluster: object, user: object = {}): string {
  const path = join(folder, 'kubeconfig')
  const text = stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1', ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
  })
  writeFileSync(path, text)
  return path
}

function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const absent = (): string => join(folder, 'absent')

interface Refused {
  readonly flags: readonly string[]
  readonly user?: 'unprivileged'
}

/** Everything of the kernel that the program could have touched. */
async function look() {
  return { state: await netState(lab.node), sysctls: await netSysctls(lab.node) }
}

/** What the program does with a start, and what it leaves of the kernel's state. */
async function start({ flags, user }: Refused) {
  const command = [LAUNCHER, `--proxy-mode=${proxyMode()}`, ...flags]
  const words =
    user === undefined ? command : asUser(UNPRIVILEGED_UID, command, { hasNoRights: true })
  const started = startProcess(lab.node.namespace, [...words])
  const status = await Promise.race([started.ended, serves(started)])
  started.signal('SIGKILL')
  await started.ended
  return { status, output: started.output(), after: await look() }
}

/** Where a wrong start is not refused, the test says so at once. */
async function serves(started: ReturnType<typeof startProcess>): Promise<string> {
  await started.said('node-proxy starts')
  return 'it starts'
}

test.each<readonly [string, string, () => Refused]>([
  ['a missing kubeconfig', 'NP_CLIENT_KUBECONFIG', () => ({ flags: [`--kubeconfig=${absent()}`] })],
  [
    'a kubeconfig that is no YAML',
    'NP_CLIENT_KUBECONFIG',
    () => ({ flags: [`--kubeconfig=${file('broken', 'a: [')}`] }),
  ],
  [
    'a kubeconfig without a server',
    'NP_CLIENT_KUBECONFIG',
    () => ({ flags: [`--kubeconfig=${kubeconfig({ server: undefined })}`] }),
  ],
  [
    'a missing authority',
    'NP_CLIENT_CREDENTIAL',
    () => ({ flags: [`--kubeconfig=${kubeconfig({ 'certificate-authority': absent() })}`] }),
  ],
  [
    'an authority that is no certificate',
    'NP_CLIENT_KUBECONFIG',
    () => ({
      flags: [`--kubeconfig=${kubeconfig({ 'certificate-authority': file('ca', 'none') })}`],
    }),
  ],
  [
    'a missing client certificate',
    'NP_CLIENT_CREDENTIAL',
    () => ({
      flags: [
        `--kubeconfig=${kubeconfig({}, { 'client-certificate': absent(), 'client-key': absent() })}`,
      ],
    }),
  ],
  [
    'a missing token file',
    'NP_CLIENT_CREDENTIAL',
    () => ({ flags: [`--kubeconfig=${kubeconfig({}, { tokenFile: absent() })}`] }),
  ],
  ['no kubeconfig outside of a cluster', 'NP_CLIENT_NOT_IN_CLUSTER', () => ({ flags: [] })],
  ['a master that is no URL', 'NP_CLIENT_SERVER_URL', () => ({ flags: ['--master=ftp://x'] })],
  [
    'an unknown mode',
    'NP_NODEPROXY_FLAG',
    () => ({ flags: ['--proxy-mode=nonsense', `--kubeconfig=${kubeconfig({})}`] }),
  ],
  [
    'a missing right',
    'CAP_NET_ADMIN',
    () => ({ flags: [`--kubeconfig=${kubeconfig({})}`], user: 'unprivileged' }),
  ],
  [
    'a missing right for what --init-only does',
    'CAP_NET_ADMIN',
    () => ({ flags: ['--init-only'], user: 'unprivileged' }),
  ],
  [
    'a missing right for what --cleanup does',
    'CAP_NET_ADMIN',
    () => ({ flags: ['--cleanup'], user: 'unprivileged' }),
  ],
])(
  '%s is refused with exit code 2, and the kernel is as it was',
  async (_what, reason, refused) => {
    const { status, output, after } = await start(refused())
    expect(output).toContain(reason)
    expect(status).toBe(2)
    expect(after).toEqual(before)
  },
)
