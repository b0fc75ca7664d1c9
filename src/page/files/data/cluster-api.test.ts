import { afterEach, expect, test, vi } from 'vitest'
import { clusterApi } from './cluster-api.ts'
import { RequestError } from './connection.ts'

const { signal } = new AbortController()
afterEach(() => void vi.unstubAllGlobals())

/** A response whose body ends with an error. */
function brokenResponse(start: string, error: () => Error): Response {
  const body = new ReadableStream<Uint8Array>({
    start: (sink) => sink.enqueue(new TextEncoder().encode(start)),
    pull: (sink) => sink.error(error()),
  })
  return new Response(body)
}

/** Answers by path; every request is kept. */
function answering(answer: (path: string) => Response) {
  const requests: string[] = []
  vi.stubGlobal('fetch', async (path: string) => {
    requests.push(path)
    return answer(path)
  })
  return requests
}

test('lists of Nodes are read part by part, and sorted as people count', async () => {
  const names = (path: string) => (path.includes('continue') ? ['n-3'] : ['n-10', 'n-9'])
  const requests = answering((path) =>
    Response.json({
      items: names(path).map((name) => ({ metadata: { name } })),
      metadata: path.includes('continue') ? {} : { continue: 'x=&y' },
    }),
  )
  const nodes = await clusterApi({ base: 'v1/' }).nodes(signal)
  expect(nodes.map(({ metadata }) => metadata.name)).toEqual(['n-3', 'n-9', 'n-10'])
  expect(requests).toEqual(['v1/nodes?limit=500', 'v1/nodes?limit=500&continue=x%3D%26y'])
})

test.each(['node-7', '..', '.', 'a/../../x?y#z', '%2e%2e', '<b>'])(
  'the name %j stays one word of the path',
  async (name) => {
    const requests = answering(() => Response.json({}))
    const api = clusterApi({ base: '../api/v1/' })
    await api.node(name).status(signal)
    await api.pod(name, name, signal)
    const paths = requests.map((path) => new URL(path, 'http://host/page/').pathname)
    expect(paths).toEqual([
      expect.stringMatching(/^\/api\/v1\/nodes\/[^/]+\/proxy\/inspection\/v1\/status$/),
      expect.stringMatching(/^\/api\/v1\/namespaces\/[^/]+\/pods\/[^/]+$/),
    ])
  },
)

test('an error of a node-proxy has its code, whether it comes as it is or in a Status', async () => {
  const error = { code: 'NP_INSPECTION_BUSY', message: 'later' }
  const details = { causes: [{ reason: error.code, message: error.message }] }
  for (const body of [
    error,
    { kind: 'Status', message: 'node-proxy: later', code: 503, details },
  ]) {
    answering(() => Response.json(body, { status: 503 }))
    await expect(clusterApi({ base: '' }).node('a').status(signal)).rejects.toMatchObject({
      message: 'later',
      code: 'NP_INSPECTION_BUSY',
      status: 503,
    })
  }
})

test('a refusal is reported once, and thrown with the words of the server', async () => {
  const message = 'nodes is forbidden'
  answering(() => Response.json({ kind: 'Status', message, code: 403 }, { status: 403 }))
  const refusals: RequestError[] = []
  const api = clusterApi({ base: '', onRefusal: (error) => refusals.push(error) })
  await expect(api.nodes(signal)).rejects.toThrow(RequestError)
  expect(refusals).toEqual([expect.objectContaining({ message, status: 403, code: '' })])
})

test.each([
  ['breaks off', () => brokenResponse('{"a":', () => new TypeError('network error'))],
  ['is no JSON', () => new Response('<html>')],
])('an answer that %s is a RequestError, as an object and as a stream', async (_, response) => {
  answering(response)
  const api = clusterApi({ base: '' }).node('a')
  const expected = expect.objectContaining({ name: 'RequestError', status: 0, code: '' }) as Error
  await expect(api.status(signal)).rejects.toEqual(expected)
  await expect(api.services(signal).next()).rejects.toEqual(expected)
})

test('a signal that ends the reading of an answer is thrown as it is', async () => {
  const controller = new AbortController()
  const reason = new Error('enough')
  const abort = (): Error => {
    controller.abort(reason)
    return reason
  }
  answering(() => brokenResponse('{"a":', abort))
  await expect(clusterApi({ base: '' }).node('a').status(controller.signal)).rejects.toBe(reason)
})

test('Pods are found by an address, whatever it holds', async () => {
  const requests = answering(() => Response.json({}))
  expect(await clusterApi({ base: 'v1/' }).podsAt('::1&x=y', signal)).toEqual([])
  expect(requests).toEqual(['v1/pods?fieldSelector=status.podIP%3D%3A%3A1%26x%3Dy'])
})

test.each([
  ['one of its endpoints has', [{ hints: { forZones: [{ name: 'a' }] } }, {}], true],
  ['none has', [{}], false],
])('a Service has topology hints where %s', async (_, endpoints, expected) => {
  const requests = answering(() => Response.json({ items: [{}, { endpoints }] }))
  const api = clusterApi({ base: '../api/v1/' })
  expect(await api.hasHints('shop/web', signal)).toBe(expected)
  const { pathname, searchParams } = new URL(requests[0]!, 'http://host/page/')
  expect(pathname).toBe('/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices')
  expect(searchParams.get('labelSelector')).toBe('kubernetes.io/service-name=web')
})

test('every request has the headers, those for nodes, too', async () => {
  const sent: unknown[] = []
  vi.stubGlobal('fetch', async (_: string, options: RequestInit) => {
    sent.push(options.headers)
    return Response.json({})
  })
  const headers = { authorization: 'Bearer x' }
  const api = clusterApi({ base: '', headers: () => headers })
  await api.nodes(signal)
  await api.node('a').status(signal)
  expect(sent).toEqual([headers, headers])
})

test('no more than eight requests run at once, whichever node they are for', async () => {
  let [running, most] = [0, 0]
  vi.stubGlobal('fetch', async () => {
    running++
    most = Math.max(most, running)
    await new Promise((resolve) => setTimeout(resolve))
    running--
    return Response.json({})
  })
  const api = clusterApi({ base: '' })
  const names = Array.from({ length: 30 }, (_, index) => `node-${index}`)
  await Promise.all(names.map((name) => api.node(name).status(signal)))
  expect(most).toBe(8)
})
