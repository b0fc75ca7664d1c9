import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startApi } from '../test-api.ts'

const KUBECTL = '/usr/bin/kubectl'

/** Runs kubectl with a manifest of the Service `web` on file. */
async function startKubectl() {
  const api = await startApi()
  const home = mkdtempSync(join(tmpdir(), 'kubectl-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const options = { env: { HOME: home, PATH: process.env['PATH'] ?? '' }, timeout: 25_000 }
  const file = join(home, 'web.json')
  const run = async (...args: readonly string[]): Promise<string> =>
    (await promisify(execFile)(KUBECTL, [`--server=${api.url}`, ...args], options)).stdout
  return {
    run,
    write: (app: string, targetPort: number) => {
      const spec = { selector: { app: 'web' }, ports: [{ port: 80, targetPort }] }
      const metadata = { name: 'web', labels: { app } }
      writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'Service', metadata, spec }))
    },
    apply: (...args: readonly string[]) =>
      run('apply', '--server-side', '--validate=false', '-f', file, ...args),
    applyAsClient: () => run('apply', '--validate=false', '-f', file),
  }
}

describe.runIf(existsSync(KUBECTL))('kubectl apply --server-side', () => {
  test('creates, shares with others, shows conflicts and forces', async () => {
    const kubectl = await startKubectl()
    kubectl.write('web', 8080)
    expect(await kubectl.apply()).toContain('service/web serverside-applied')
    await kubectl.run('label', 'svc', 'web', 'tier=front')
    await kubectl.run('label', 'svc', 'web', '--overwrite', 'app=other')
    await expect(kubectl.apply()).rejects.toThrow(
      /Apply failed with 1 conflict: conflict with "kubectl-label" using v1.*\.metadata\.labels\.app/,
    )
    await kubectl.apply('--force-conflicts')
    const shown = await kubectl.run('get', 'svc', 'web', '-o', 'yaml', '--show-managed-fields')
    expect(shown).toMatch(/manager: kubectl\n +operation: Apply/)
    expect(shown).toMatch(/app: web\n +tier: front/)
    expect(await kubectl.run('get', 'svc', 'web', '-o', 'yaml')).not.toContain('managedFields')
  }, 60_000)

  test('takes over what was applied on the client side', async () => {
    const kubectl = await startKubectl()
    kubectl.write('web', 8080)
    await kubectl.applyAsClient()
    kubectl.write('changed', 9090)
    expect(await kubectl.apply()).toContain('service/web serverside-applied')
    const fields = 'jsonpath={.metadata.labels.app} {.spec.ports[*].targetPort}'
    expect(await kubectl.run('get', 'svc', 'web', '-o', fields)).toBe('changed 9090')
  }, 60_000)
})
