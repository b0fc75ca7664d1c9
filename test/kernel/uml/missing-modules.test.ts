import { expect, test } from 'vitest'
import { findInstallation } from '../../../src/uml/installation.ts'
import { bootKernel } from '../../../src/uml/start-kernel.ts'
import { readLog } from '../../support/lab/log-lines.ts'
import { launcherOf } from '../../support/programs.ts'

/** Kernels without one or several features: each is named, with its remedy, and nothing is left. */
const CODE = 'NP_IPVS_MODULE_MISSING'
const { release } = await findInstallation()

function absent(module: string) {
  const said = `modprobe: WARNING: Module ${module} not found in directory /lib/modules/${release}`
  return {
    code: CODE,
    msg: `kernel module ${module} does not exist for this kernel: ${said}`,
    remedy: `boot a kernel that has it, or install its modules; then: modprobe ${module}`,
  }
}

/** What of the network a daemon could leave behind. */
const STATE = `
  iptables-legacy-save | grep -E '^-A|^:.* - '
  ip6tables-legacy-save | grep -E '^-A|^:.* - '
  ipset list -n 2>/dev/null
  ip rule; ip -6 rule
  ip route show table all; ip -6 route show table all
  ipvsadm -Sn 2>/dev/null
  ip -o link`

const FLAGS = [
  '--proxy-mode=ipvs',
  '--iptables-backend=legacy',
  '--master=http://127.0.0.1:1',
  '--hostname-override=any',
  '--cluster-cidr=10.0.0.0/8',
]

async function runWithout(modules: readonly string[], ...flags: readonly string[]) {
  const { console } = await bootKernel({
    command: 'sh',
    args: [
      '-c',
      `state() { ${STATE}
       }
       state >/tmp/before
       "$@" && status=0 || status=$?
       state >/tmp/after
       cmp /tmp/before /tmp/after && echo "status $status, nothing left"`,
      'sh',
      launcherOf('node-proxy'),
      ...FLAGS,
      ...flags,
    ],
    memory: 512,
    withoutModules: modules,
    timeoutMs: 280_000,
  })
  return { lines: readLog(console), end: console.trim().split('\n').at(-1) }
}

test.each([
  [['ip_vs'], [], [absent('ip_vs')]],
  [['ip_vs_rr'], [], [absent('ip_vs_rr')]],
  [['ip_vs_mh'], ['--ipvs-scheduler=mh'], [absent('ip_vs_mh')]],
  [['ip_set_hash_ipportnet', 'xt_set'], [], [absent('ip_set_hash_ipportnet'), absent('xt_set')]],
])('without %j %j: exit status 1', async (modules, flags, missing) => {
  const { lines, end } = await runWithout(modules, ...flags)
  expect(end).toBe('status 1, nothing left')
  const errors = lines.filter(({ level }) => level === 'error')
  expect(errors).toMatchObject(missing)
  const unmet = missing.length === 1 ? '1 requirement is' : `${missing.length} requirements are`
  expect(lines.at(-1)).toMatchObject({
    level: 'fatal',
    msg: 'node-proxy ends',
    err: {
      code: CODE,
      message: `mode ipvs cannot work here: ${unmet} not met`,
      hint: missing.map(({ remedy }) => remedy).join('; '),
    },
  })
})
