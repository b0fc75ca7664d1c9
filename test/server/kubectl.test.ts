import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectScene } from '../support/kubectl/expect-scene.ts'
import { installedKubectls, type Kubectl } from '../support/kubectl/installed.ts'
import { FILES, SCENES } from '../support/kubectl/scenes.ts'
import { openShell, type Shell, type Started } from '../support/kubectl/shell.ts'
import {
  type OrchServerProcess,
  startOrchServer,
} from '../support/orchserver/orch-server-process.ts'

/** Since then discovery takes two requests; before, two and one per group and version. */
const AGGREGATED_DISCOVERY = 27

/** Since then it lists again and goes on; before, it ends if the server is still away. */
const RESUMED_WAITS = 27

const KUBECTLS = installedKubectls()

const server = useServer()

function useServer(): () => OrchServerProcess {
  let started: OrchServerProcess | undefined
  beforeAll(async () => {
    if (KUBECTLS.length > 0) started = await startOrchServer()
  })
  afterAll(() => started?.[Symbol.asyncDispose]())
  return () => started!
}

function shellOf(kubectl: Kubectl, name: string): Promise<Shell> {
  const namespace = `${name}-1-${kubectl.minor}`
  return openShell({ kubectl, namespace, kubeconfig: server().kubeconfig, files: FILES })
}

describe.each(KUBECTLS)('kubectl $version', (kubectl) => {
  test.concurrent.each(SCENES)('$name', async ({ name, lines }) => {
    await using shell = await shellOf(kubectl, name)
    await expectScene(shell, kubectl.minor, lines)
  })

  test.runIf(kubectl.minor >= AGGREGATED_DISCOVERY)(
    'sends few requests when its cache is empty',
    async () => {
      await using shell = await shellOf(kubectl, 'cold')
      const { text } = await shell.run('rm -r .kube; kubectl get svc -v=6')
      const paths = [...text.matchAll(/GET.*https:\/\/[^/]+(\/[^ ?"]*)/g)].map((found) => found[1])
      const services = expect.stringMatching(/\/services$/)
      expect(paths).toEqual(['/api', '/apis', services])
    },
  )

  test('across kill -9: get -w ends, as everywhere, and starts again; wait goes on', async () => {
    await using shell = await shellOf(kubectl, 'restarts')
    const watched = shell.start('kubectl get svc -w --no-headers')
    await shell.run('kubectl create service externalname far --external-name=example.com')
    await lineThat(watched, /^far +ExternalName +<none> +example\.com/)
    const waiting = shell.start('kubectl wait --for=delete svc/far --timeout=60s -v=6')
    await lineThat(waiting, /watch=true/)
    await server().kill()
    expect(await watched.ended).toBe(0)
    await server().start()

    const again = shell.start('kubectl get svc -w --no-headers')
    await lineThat(again, /^far /)
    await shell.run('kubectl delete svc far')
    await lineThat(again, /^far /)
    expect(kubectl.minor >= RESUMED_WAITS ? [0] : [0, 255]).toContain(await waiting.ended)
  })
})

async function lineThat({ lines }: Started, matches: RegExp): Promise<void> {
  for (;;) {
    const { done = false, value } = await lines.next()
    if (done) throw new Error(`it ended before it said ${String(matches)}`)
    if (matches.test(value)) return
  }
}
