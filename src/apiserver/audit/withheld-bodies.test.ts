import { describe, expect, test } from 'vitest'
import { type HandlerResult, jsonReply } from '../request/api-request.ts'
import { badRequest, conflict } from '../status/status.ts'
import { audited, finish, newResponse, requestFor } from './testing/audited.ts'

/** Stands in every body below; no line may hold it. */
const SECRET = 'hunter2-hunter2'
const BASE64 = Buffer.from(SECRET).toString('base64')

const RULES = [
  '[{level: RequestResponse}]',
  '[{level: RequestResponse, resources: [{group: "", resources: ["*"]}, {group: authentication.k8s.io}]}]',
]

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value))
}

const secret = {
  kind: 'Secret',
  metadata: { name: 'key' },
  data: { a: BASE64 },
  stringData: { a: SECRET },
}

interface Bodies {
  readonly sent: Buffer
  readonly contentType?: string
  readonly result?: HandlerResult
}

/** The lines of one request at the highest level. */
function linesOf(text: string, { sent, contentType = '', result }: Bodies): readonly string[] {
  return RULES.flatMap((rules) => {
    const on = audited(rules)
    const record = on.log.begin(requestFor(text))
    record.received(sent, contentType)
    const response = newResponse()
    const answer = record.respond(result ?? jsonReply(200, sent), response)
    if (typeof answer === 'object' && 'body' in answer) for (const _ of answer.body);
    finish(response, 200)
    return on.lines
  })
}

function expectNothingShown(lines: readonly string[]): void {
  expect(lines).toHaveLength(4)
  for (const line of lines) {
    expect(line).not.toContain('hunter2')
    expect(line).not.toContain(BASE64.slice(0, 8))
    expect(line).not.toMatch(/"(?:request|response)Object"/)
  }
}

describe('bodies of these requests are never shown', () => {
  test.each([
    'create secrets shop/',
    'update secrets shop/key',
    'patch secrets shop/key',
    'get secrets shop/key',
    'list secrets shop/',
    'list secrets',
    'delete secrets shop/key',
    'deletecollection secrets shop/',
    'get secrets/status shop/key',
    'patch secrets/anything shop/key',
    'create configmaps shop/',
    'list configmaps',
    'update configmaps/x shop/a',
    'create serviceaccounts/token shop/builder',
    'create tokenreviews',
    'create things',
    'create pods/token shop/web',
  ])('%s', (text) => {
    const lines = linesOf(text, { sent: json({ data: { a: BASE64 }, status: { token: SECRET } }) })
    expectNothingShown(lines)
    for (const line of lines) expect(line).toContain('"level":"Metadata"')
  })

  test.each(['', 'authentication.k8s.io', 'authentication.orch.io', 'orch.io', 'x.y'])(
    'also of resources of these names in the group "%s"',
    (group) => {
      for (const resource of ['secrets', 'configmaps', 'tokenreviews']) {
        const on = audited('[{level: RequestResponse}]')
        const base = requestFor('create pods shop/')
        const action = { ...base.action, resource, group }
        const record = on.log.begin({ ...base, action })
        record.received(json(secret), '')
        const response = newResponse()
        record.respond(jsonReply(201, json(secret)), response)
        finish(response, 201)
        expect(on.lines.join()).not.toContain('hunter2')
        expect(on.lines.join()).not.toContain(BASE64)
      }
    },
  )
})

describe('a body of these is not shown, whatever path it was sent to', () => {
  const list = { kind: 'List', items: [{ kind: 'Pod' }, secret] }
  test.each<[string, unknown]>([
    ['a Secret', secret],
    ['a ConfigMap', { ...secret, kind: 'ConfigMap' }],
    ['a Secret in other letters', { ...secret, kind: 'SECRET' }],
    ['a TokenRequest', { kind: 'TokenRequest', status: { token: SECRET } }],
    ['a TokenReview', { kind: 'TokenReview', spec: { token: SECRET } }],
    ['a list of Secrets', { kind: 'SecretList', items: [{ data: { a: BASE64 } }] }],
    ['a list with a Secret', list],
    ['a table with a Secret', { kind: 'Table', rows: [{ object: secret }] }],
    ['a JSON patch with a Secret', [{ op: 'replace', path: '', value: secret }]],
  ])('%s', (_name, body) => expectNothingShown(linesOf('create pods shop/', { sent: json(body) })))

  test('a Secret in YAML', () => {
    const sent = Buffer.from(`kind: Secret\nstringData: {a: ${SECRET}}`)
    const result = badRequest('the kind does not match')
    expectNothingShown(
      linesOf('create pods shop/', { sent, contentType: 'application/yaml', result }),
    )
  })

  test.each(['application/json', 'application/yaml', 'application/x-unknown', 'text/plain'])(
    'a body of type %s that cannot be read',
    (contentType) => {
      const sent = Buffer.from(`{"kind":"Secret","a":"${SECRET}"`)
      expectNothingShown(
        linesOf('create pods shop/', { sent, contentType, result: badRequest('x') }),
      )
    },
  )
})

describe('messages of refusals that may quote the body are not shown without it', () => {
  const excerpt = `the body is not valid JSON: Unexpected token, "${SECRET}" is not valid JSON`
  test.each(['create secrets shop/', 'create pods shop/', 'patch configmaps shop/a'])(
    '%s',
    (text) => {
      const sent = Buffer.from(`{"stringData": ${SECRET}`)
      const lines = linesOf(text, { sent, result: badRequest(excerpt) })
      expectNothingShown(lines)
      expect(lines[1]).toContain('"reason":"BadRequest"')
    },
  )

  test('a conflict at a Secret', () => {
    const result = conflict({ plural: 'secrets', group: '', name: 'key' }, `has ${SECRET}`)
    expectNothingShown(linesOf('update secrets shop/key', { sent: json(secret), result }))
  })
})
