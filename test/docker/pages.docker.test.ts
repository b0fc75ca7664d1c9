import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { kubeconfigText } from '../support/lab/kubeconfig.ts'
import { root } from '../support/on-demand/root.ts'
import { linesOf } from '../support/pages/page-commands.ts'
import { blockOf, spanOf } from '../support/pages/page-section.ts'
import { tieToUs } from '../support/tie-to-us.ts'
import { debianBase, packagesOf } from './images/debian-base.ts'
import { DOCKERFILES } from './images/dockerfiles.ts'
import { describeWithEngine } from './with-engine.ts'

/** What a Dockerfile is built on unless a build names another base. */
const DEFAULT_BASE = 'debian:bookworm-slim'
const BUILD_MS = 15 * 60_000
/** The commands change the network of the engine, and names of its images. */
const isOwn = process.env['NP_DOCKER_OWN'] !== undefined
const WHY = isOwn ? '' : ' (skipped: `npm run test:docker` with an engine of its own)'

/** Commands of docker/README.md and docs/operate/image.md, as they stand there, by Debian's `docker`. */
describeWithEngine('the pages', ({ uri }) => {
  const env = { PATH: `/usr/sbin:/usr/bin:/sbin:/bin:${process.env['PATH']}`, DOCKER_HOST: uri }
  const run = async (script: string, timeout = 120_000): Promise<string> => {
    const { stdout } = await execa('bash', ['-euo', 'pipefail', '-c', script], {
      cwd: root,
      env,
      timeout,
      stdin: 'ignore',
    })
    return stdout
  }

  describe.skipIf(!isOwn)(`of docker${WHY}`, () => {
    test('build all images', { timeout: 2 * BUILD_MS }, async () => {
      const [ours = '', load = '', loadServer = '', kernelTest = ''] = linesOf(
        blockOf('docker/README.md', 'docker', 0),
      )
      await run([ours, load, loadServer].join('\n'), BUILD_MS)
      expect(await run('docker run --rm node-proxy:0.1.0 --version')).toBe('node-proxy 0.1.0')
      expect(await run('docker run --rm orch-server:0.1.0 --version')).toBe('orch-server 0.1.0')
      await run(`docker tag ${debianBase(DOCKERFILES.kernelTest).image} ${DEFAULT_BASE}`)
      await run(kernelTest, BUILD_MS)
      expect(await run('docker run --rm node-proxy-kernel-test node --version')).toMatch(/^v26\./)
    })

    test('load the image into containerd', async () => {
      await run(
        spanOf('docker/README.md', 'ctr --namespace k8s.io image import dist/node-proxy.tar'),
      )
      const names = await run('ctr --namespace k8s.io image list --quiet')
      expect(names.split('\n')).toContain('docker.io/library/node-proxy:0.1.0')
    })

    test('build without a registry', { timeout: BUILD_MS }, async () => {
      const base = debianBase(DOCKERFILES.kernelTest)
      const folder = mkdtempSync(join(tmpdir(), 'np-my-debian-'))
      await run(`tar -C ${folder} -xf ${base.archive}`)
      const [make = '', ...others] = linesOf(
        blockOf('docker/README.md', 'Without a registry', 0).replaceAll('../my-debian', folder),
      )
      expect(make).toContain(
        `--include=${packagesOf(readFileSync(join(root, DOCKERFILES.kernelTest), 'utf8')).join(',')} `,
      )
      await run(others.join('\n'), BUILD_MS)
      rmSync(folder, { recursive: true })
      expect(await run('docker run --rm node-proxy-kernel-test node --version')).toMatch(/^v26\./)
    })
  })

  test.skipIf(!isOwn)(`run orch-server${WHY}`, async () => {
    const [start = '', copy = ''] = linesOf(blockOf('image.md', 'orch-server', 0))
    const folder = mkdtempSync(join(tmpdir(), 'np-control-plane-'))
    onTestFinished(async () => {
      rmSync(folder, { recursive: true })
      await run('docker rm --force --volumes control-plane')
    })
    await run(start)
    const copied = () => run(`cd ${folder}; ${copy}`).then(() => 'copied', String)
    await expect.poll(copied).toBe('copied')
    const authority = parse(readFileSync(join(folder, 'admin.kubeconfig'), 'utf8')) as unknown
    expect(authority).toMatchObject({ kind: 'Config' })
    const ready = () => run('curl -sk https://127.0.0.1:6443/readyz').catch(String)
    await expect.poll(ready).toBe('ok')
  })

  describe.skipIf(!isOwn)(`of the image on a single machine${WHY}`, () => {
    const block = blockOf('image.md', 'On a single machine', 0)
    let api: ChildProcess

    beforeAll(async () => {
      api = spawn(process.execPath, [join(root, 'src/apiserver/main.ts'), '--port=0'], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      tieToUs(api)
      const server = await firstUrl(api)
      await makeService(server)
      mkdirSync('/etc/node-proxy')
      writeFileSync('/etc/node-proxy/kubeconfig', kubeconfigText({ url: server }))
      writeFileSync('/etc/node-proxy/config.yaml', CONFIGURATION)
    })
    afterAll(async () => {
      api.kill('SIGKILL')
      await run('docker rm --force node-proxy')
    })

    test('runs, and is read', async () => {
      await run(block)
      const status = spanOf('image.md', 'docker exec node-proxy node-proxy status')
      const read = () => run(status).catch(String)
      await expect.poll(read).toMatch(/^ready, and nothing is wrong/)
      expect(await run('bin/node-proxy status')).toMatch(/^ready, and nothing is wrong/)
      expect(await run('iptables-nft-save')).toContain('-d 10.96.0.80/32')
    })

    test('ends, and its rules stay', async () => {
      await run(spanOf('image.md', 'docker stop node-proxy'))
      const state = await run("docker inspect --format '{{.State.ExitCode}}' node-proxy")
      expect(state).toBe('0')
      expect(await run('iptables-nft-save')).toContain('-d 10.96.0.80/32')
    })

    test('removes its rules', async () => {
      const [define = ''] = linesOf(block)
      await run(`${define}\n${spanOf('image.md', 'run --rm node-proxy:0.1.0 --cleanup')}`)
      expect(await run('iptables-nft-save')).not.toContain('NPROXY-')
    })
  })
})

const CONFIGURATION = stringify({
  apiVersion: 'proxy.config.orch.io/v1alpha1',
  kind: 'NodeProxyConfiguration',
  clientConnection: { kubeconfig: '/etc/node-proxy/kubeconfig' },
  clusterCIDR: '10.244.0.0/16',
})

/** The first line of the API server. */
async function firstUrl({ stdout }: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: stdout! })) {
    const url = /http:\S+/.exec(line)?.[0]
    if (url === undefined) continue
    stdout!.resume()
    return url
  }
  throw new Error('the API server ended')
}

async function makeService(server: string): Promise<void> {
  const answer = await fetch(`${server}/api/v1/namespaces/default/services`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web' },
      spec: { clusterIP: '10.96.0.80', ports: [{ port: 80 }] },
    }),
  })
  expect(answer.status).toBe(201)
}
