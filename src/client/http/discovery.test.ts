import { afterEach, expect, test } from 'vitest'
import { systemClock } from '../../lib/clock.ts'
import { connectionTo } from '../connection/load-connection.ts'
import { answerJson, answerStatus, startScriptedServer } from '../testing/scripted-server.ts'
import { createApiClient } from './api-client.ts'
import { discoverEndpointsApi } from './discovery.ts'

const cleanups: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

const GROUP = '/apis/discovery.k8s.io'
const V1 = `${GROUP}/v1/endpointslices`
const BETA = `${GROUP}/v1beta1/endpointslices`
const list = { kind: 'List', metadata: { resourceVersion: '1' }, items: [] }

function group(...versions: readonly string[]): unknown {
  const named = versions.map((version) => ({
    groupVersion: `discovery.k8s.io/${version}`,
    version,
  }))
  return { kind: 'APIGroup', versions: named }
}

/** Discovers on a server that answers these paths; a number is a refusal, and so is 404 elsewhere. */
async function discover(answers: Readonly<Record<string, unknown>>): Promise<unknown> {
  const server = await startScriptedServer(({ url, response }) => {
    const answer = answers[url.pathname] ?? 404
    if (typeof answer === 'number') answerStatus(response, answer, 'No')
    else answerJson(response, 200, answer)
  })
  const connection = connectionTo(server.url)
  const client = createApiClient({ connection, clock: systemClock, userAgent: 'test' })
  cleanups.push(
    () => client.close(),
    () => server.close(),
  )
  const found = await discoverEndpointsApi(client, new AbortController().signal)
  return found.ok ? found.value : found.failure.code
}

test.each<[string, Readonly<Record<string, unknown>>, unknown]>([
  ['v1 before v1beta1', { [GROUP]: group('v1beta1', 'v1') }, 'discovery.k8s.io/v1'],
  ['v1beta1 where there is no v1', { [GROUP]: group('v1beta1') }, 'discovery.k8s.io/v1beta1'],
  ['Endpoints where the group has neither', { [GROUP]: group('v1alpha1') }, 'v1'],
  ['Endpoints where the group document is nonsense', { [GROUP]: { versions: 7 } }, 'v1'],
  ['Endpoints where there is nothing', {}, 'v1'],
  ['v1 without a group document', { [V1]: list }, 'discovery.k8s.io/v1'],
  ['v1beta1 without a group document', { [BETA]: list }, 'discovery.k8s.io/v1beta1'],
  ['v1 where discovery is forbidden', { [GROUP]: 403, [V1]: list }, 'discovery.k8s.io/v1'],
  [
    'Endpoints where only those may be listed',
    { [GROUP]: 403, [V1]: 403, [BETA]: 403, '/api/v1/endpoints': list },
    'v1',
  ],
  [
    'v1 where everything is forbidden',
    { [GROUP]: 403, [V1]: 403, [BETA]: 403, '/api/v1/endpoints': 403 },
    'discovery.k8s.io/v1',
  ],
  ['nothing from a server in trouble', { [GROUP]: 503 }, 503],
  ['nothing from a server that gets into trouble', { [GROUP]: 404, [V1]: 500 }, 500],
])('finds %s', async (_, answers, expected) => {
  expect(await discover(answers)).toEqual(expected)
})
