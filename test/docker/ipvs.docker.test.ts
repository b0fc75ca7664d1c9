import { expect, test } from 'vitest'
import { TestContainer } from './containers/test-container.ts'
import { describeWithEngine } from './with-engine.ts'

/** What an IPVS kernel is to show: the codec, each scheduler, persistence, and all shared packet flows. */
const SUITES = [
  { name: 'virtual servers over netlink', files: ['test/kernel/interfaces/ipvs.ipvs.test.ts'] },
  {
    name: 'schedulers and persistence, by connections through the daemon',
    files: ['test/kernel/schedulers.ipvs.test.ts', 'test/kernel/persistence.ipvs.test.ts'],
  },
  { name: 'the shared packet flows', files: ['test/kernel/flows.test.ts'] },
]
const TIMEOUT_MS = 20 * 60_000
const MEMORY_MIB = 2_048

interface Report {
  readonly numPassedTests: number
  readonly testResults: readonly {
    readonly message: string
    readonly assertionResults: readonly {
      readonly status: string
      readonly fullName: string
      readonly failureMessages: readonly string[]
    }[]
  }[]
}

describeWithEngine('ipvs mode in a container', ({ images, run }) => {
  test.each(SUITES)('$name', { timeout: TIMEOUT_MS }, async ({ files }) => {
    const container = (await hostHasIpvs()) ? onHostKernel() : inUserModeLinux()
    const { status, output } = await container(vitest(files)).run(TIMEOUT_MS)
    const report = reportIn(output)
    expect(failuresOf(report)).toEqual([])
    expect(report.numPassedTests).toBeGreaterThanOrEqual(files.length)
    expect(status).toBe(0)
  })

  test('needs two capabilities, and no writable /proc/sys once --init-only ran', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const { status, output } = await inUserModeLinux()(['sh', 'test/docker/few-rights.sh']).run(
      TIMEOUT_MS,
    )
    const [prepared = '', served = ''] = output.split('the daemon itself:')
    expect(prepared).toContain('set a kernel setting')
    expect(served).not.toContain('changing a kernel setting failed; it stays as it was')
    expect(served).toContain('-a -t 10.96.0.80:80 -r 192.0.2.80:8080 -m -w 1')
    expect(status).toBe(0)
  })

  /** A request for IPVS makes the kernel load it, if it can. */
  async function hostHasIpvs(): Promise<boolean> {
    const container = new TestContainer(images.kernelTest, `${run}-ipvs`)
      .withAddedCapabilities('NET_ADMIN')
      .withCommand(['ipvsadm', '--list', '--numeric'])
    return (await container.run()).status === 0
  }

  /** Makes network namespaces and mounts, as root of the container. */
  function onHostKernel() {
    return (command: readonly string[]) =>
      new TestContainer(images.kernelTest, `${run}-ipvs`)
        .unmasked()
        .withAddedCapabilities('NET_ADMIN', 'SYS_ADMIN')
        .withSecurityOpt('seccomp=unconfined', 'apparmor=unconfined')
        .withCommand([...command])
  }

  /** Needs nothing of the host but a folder that programs may be mapped from. */
  function inUserModeLinux() {
    return (command: readonly string[]) =>
      unprivileged(['node', 'src/uml/main.ts', `--memory=${MEMORY_MIB}`, ...command])
  }

  const unprivileged = (command: readonly string[]) =>
    new TestContainer(images.kernelTest, `${run}-ipvs`)
      .withUser('1000:1000')
      .withDroppedCapabilities('ALL')
      .withSecurityOpt('no-new-privileges')
      .withNetworkMode('none')
      .withTmpFs({ '/uml': 'rw,exec,mode=1777' })
      .withEnvironment({ TMPDIR: '/uml' })
      .withCommand([...command])

  test('the container that runs it has no privilege at all', async () => {
    const { output } = await unprivileged(['cat', '/proc/self/status']).run()
    expect(output).toMatch(/^Uid:\t1000\t1000/m)
    expect(output.match(/^Cap(Prm|Eff|Bnd|Amb):\t0+$/gm)).toHaveLength(4)
    expect(output).toMatch(/^NoNewPrivs:\t1$/m)
  })
})

/** Runs test files, and prints the report as its last line. */
function vitest(files: readonly string[]): readonly string[] {
  const report = '/tmp/report.json'
  const reporters = `--reporter=default --reporter=json --outputFile.json=${report}`
  const run = `node node_modules/vitest/vitest.mjs run --project=ipvs ${reporters} ${files.join(' ')}`
  return ['sh', '-c', `${run}; status=$?; echo; cat ${report}; exit $status`]
}

function reportIn(output: string): Report {
  const line = output.split('\n').findLast((text) => text.startsWith('{"numTotal'))
  if (line === undefined) throw new Error(`no report of vitest in: ${output.slice(-4_000)}`)
  return JSON.parse(line) as Report
}

function failuresOf({ testResults }: Report): readonly string[] {
  return testResults.flatMap(({ message, assertionResults }) => [
    ...(message === '' ? [] : [message]),
    ...assertionResults
      .filter(({ status }) => status === 'failed')
      .map(({ fullName, failureMessages }) => `${fullName}: ${failureMessages.join('\n')}`),
  ])
}
