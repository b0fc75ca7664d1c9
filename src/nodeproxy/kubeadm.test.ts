import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { kubeadmFiles } from '../../test/support/kubeadm/config-map.ts'

const LAUNCHER = new URL('../../bin/node-proxy', import.meta.url).pathname

/** The program's configuration of a ConfigMap, changed by `edit`, and what it says about it. */
async function loaded(edit: (text: string) => string = (text) => text) {
  const folder = mkdtempSync(join(tmpdir(), 'np-kubeadm-'))
  const [file, out] = [join(folder, 'config.conf'), join(folder, 'out.yaml')]
  try {
    writeFileSync(file, edit(kubeadmFiles()['config.conf']))
    const flags = [`--config=${file}`, '--hostname-override=node-1', `--write-config-to=${out}`]
    const { stderr } = await promisify(execFile)(LAUNCHER, flags)
    return {
      stderr: stderr.replace(folder, ''),
      config: parse(readFileSync(out, 'utf8')) as object,
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('the program takes the configuration of a kubeadm ConfigMap as it is', async () => {
  const { stderr, config } = await loaded()
  expect(stderr).toBe('wrote /out.yaml\n')
  expect(config).toMatchObject({
    clientConnection: { kubeconfig: '/var/lib/kube-proxy/kubeconfig.conf' },
    clusterCIDR: '10.0.0.0/8',
    hostnameOverride: 'node-1',
    healthzBindAddress: '0.0.0.0:10256',
    metricsBindAddress: '127.0.0.1:10249',
    conntrack: { maxPerCore: 32_768, min: 131_072 },
    iptables: { masqueradeBit: 14, localhostNodePorts: false },
  })
})

test.each(['ipvs', 'nftables', 'iptables', 'userspace'])('mode %s is taken too', async (mode) => {
  const { config } = await loaded((text) => text.replace('mode: ""', `mode: ${mode}`))
  expect(config).toMatchObject({ mode })
})
