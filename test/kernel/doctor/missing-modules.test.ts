import { expect, test } from 'vitest'
import type { Finding } from '../../../src/doctor/evidence/finding.ts'
import { bootKernel } from '../../../src/uml/start-kernel.ts'
import { launcherOf } from '../../support/programs.ts'

const CONFIG = `apiVersion: proxy.config.orch.io/v1alpha1
kind: NodeProxyConfiguration
mode: ipvs
ipvs: { scheduler: mh }
`

/** What doctor finds in a kernel without modules, after a node-proxy in ipvs mode has ended for that reason. */
async function findWithout(modules: readonly string[]): Promise<readonly Finding[]> {
  const { console } = await bootKernel({
    command: 'sh',
    args: [
      '-c',
      'printf "%s" "$2" >/tmp/config.yaml; "$1" --config=/tmp/config.yaml --iptables-backend=legacy --master=http://127.0.0.1:1 --hostname-override=any >/dev/null 2>&1; echo; echo "FOUND $("$1" doctor --config=/tmp/config.yaml -o json | tr -d "\\n")"',
      'sh',
      launcherOf('node-proxy'),
      CONFIG,
    ],
    memory: 512,
    withoutModules: modules,
    timeoutMs: 280_000,
  })
  const line = /^FOUND (.*)$/m.exec(console)?.[1] ?? `no finding: ${console}`
  return JSON.parse(line) as readonly Finding[]
}

test.each([
  [['ip_vs'], 'ip_vs', 'absent'],
  [['ip_vs_mh'], 'ip_vs_mh', 'absent'],
])('without %j: mode ipvs has no effect, and why', async (modules, named, state) => {
  const [first, second] = await findWithout(modules)
  expect(first).toMatchObject({ check: 'missing-modules', symptom: 'IPVS mode has no effect' })
  expect(first?.cause).toContain(`the kernel has not ${named}`)
  expect(first?.evidence).toContain(`module ${named}: ${state}`)
  expect(second).toMatchObject({ check: 'daemon-absent' })
})
