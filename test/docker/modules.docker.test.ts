import { expect, test } from 'vitest'
import { TestContainer } from './containers/test-container.ts'
import { describeWithEngine } from './with-engine.ts'

const TIMEOUT_MS = 180_000

describeWithEngine('the kernel check in a container', ({ images, run }) => {
  /** The daemon as root of a kernel without some modules, in a container without privilege. */
  const daemonWithout = (modules: string, ...flags: readonly string[]) => {
    const kernel = ['src/uml/main.ts', `--without=${modules}`, '--memory=512']
    const line = ['bin/node-proxy', '--master=http://127.0.0.1:1', ...flags].join(' ')
    return new TestContainer(images.kernelTest, `${run}-modules`)
      .withUser('1000:1000')
      .withDroppedCapabilities('ALL')
      .withSecurityOpt('no-new-privileges')
      .withNetworkMode('none')
      .withTmpFs({ '/uml': 'rw,exec,mode=1777' })
      .withEnvironment({ TMPDIR: '/uml' })
      .withCommand(['node', ...kernel, 'sh', '-c', `${line}; code=$?; ${LEFT}; exit $code`])
      .run(TIMEOUT_MS)
  }

  test.each([
    ['ip_vs', '--proxy-mode=ipvs', 'modprobe ip_vs'],
    ['ip_vs_wrr', '--proxy-mode=ipvs --ipvs-scheduler=wrr', 'modprobe ip_vs_wrr'],
  ])('without %s: %s ends with what would help', { timeout: TIMEOUT_MS }, async (...row) => {
    const [modules, flags, remedy] = row
    const { status, output } = await daemonWithout(modules, flags)
    const records = recordsIn(output)
    expect(records).toContainEqual(
      expect.objectContaining({
        level: 'error',
        code: 'NP_IPVS_MODULE_MISSING',
        remedy: expect.stringContaining(remedy),
      }),
    )
    expect(records.at(-1)).toMatchObject({ level: 'fatal' })
    expect(output).toContain('left behind: none')
    expect(status).toBe(1)
  })

  // That kernel has no nf_tables for IPv4 and IPv6.
  test('auto takes a mode that works', { timeout: TIMEOUT_MS }, async () => {
    const { status, output } = await daemonWithout('ip_vs', '--proxy-mode=auto', '--init-only')
    expect(status).toBe(0)
    expect(recordsIn(output)).toContainEqual(
      expect.objectContaining({ msg: 'the mode is chosen', mode: 'iptables' }),
    )
  })

  test('on the kernel of the engine it never runs without saying what is missing', async () => {
    const { status, output } = await new TestContainer(images.daemon, `${run}-modules`)
      .readOnly()
      .withDroppedCapabilities('ALL')
      .withAddedCapabilities('NET_ADMIN', 'NET_RAW')
      .unmasked()
      .withCommand(['--proxy-mode=ipvs', '--init-only'])
      .run()
    const complaints = recordsIn(output).filter(({ level }) => level === 'error')
    if (status === 0) expect(complaints).toEqual([])
    else
      expect(complaints.map(({ remedy }) => String(remedy))).toContainEqual(
        expect.stringContaining('modprobe'),
      )
  })
})

/** Chains and links of ours. */
const LEFT = `
  left=$(iptables-save | grep -c NPROXY-; ip -o link show type dummy)
  [ "$left" = 0 ] && left=none; echo "left behind: $left"`

/** The log lines among what was printed. */
function recordsIn(output: string): readonly Record<string, unknown>[] {
  return output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}
