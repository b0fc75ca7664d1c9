import { type Json, stringAt } from '../../../src/lib/json.ts'
import type { Answer, Attacker, Attempt } from '../hostile/attacker.ts'
import type { KnownValues } from './known-values.ts'

/** The namespace in which everything happens. */
export const NAMESPACE = 'careless'
const HERE = `/api/v1/namespaces/${NAMESPACE}`
export const SECRETS = `${HERE}/secrets`
const CONFIG_MAPS = `${HERE}/configmaps`
const ACCOUNTS = `${HERE}/serviceaccounts`

export const PATCHES = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const

/** Clients of one server and the values that they use. */
export interface Careless {
  /** May do everything. */
  readonly admin: Attacker
  /** Has no credentials except those that a request gives. */
  readonly anonymous: Attacker
  /** Values of Secrets, tokens and passwords. */
  readonly secrets: KnownValues
  /** Values of ConfigMaps, which may be in the store and in backups. */
  readonly settings: KnownValues
  /** Every answer that is an error. */
  readonly refusals: Answer[]
}

type Target = readonly [method: string, path: string]

/** A body that is not a string is sent as JSON. */
type Content = Omit<Attempt, 'body'> & { readonly body?: unknown }

/** Sends a request and keeps the answer when it is an error. */
export async function send(
  { refusals }: Pick<Careless, 'refusals'>,
  client: Attacker,
  [method, path]: Target,
  attempt: Content = {},
): Promise<Answer> {
  const { body, ...rest } = attempt
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const answer = await client.call(
    method,
    path,
    text === undefined ? rest : { ...rest, body: text },
  )
  if (answer.status >= 400) refusals.push(answer)
  return answer
}

export function base64(value: string): string {
  return Buffer.from(value).toString('base64')
}

/** Makes Secrets, ConfigMaps, an account and its tokens, and returns the tokens. */
export async function makeObjects(careless: Careless): Promise<readonly string[]> {
  const { admin, secrets, settings } = careless
  const make = async (path: string, body: unknown): Promise<Json> => {
    const answer = await send(careless, admin, ['POST', path], { body })
    if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${answer.text}`)
    return JSON.parse(answer.text) as Json
  }
  await make('/api/v1/namespaces', { metadata: { name: NAMESPACE } })
  await make(CONFIG_MAPS, {
    metadata: { name: 'settings' },
    data: { clear: settings.make('setting') },
    binaryData: { bytes: base64(settings.make('binary setting')) },
  })
  await make(SECRETS, {
    metadata: { name: 'opaque' },
    data: { a: base64(secrets.make('data')) },
    stringData: { b: secrets.make('stringData') },
  })
  await make(SECRETS, {
    metadata: { name: 'user' },
    type: 'kubernetes.io/basic-auth',
    stringData: { username: 'ann', password: secrets.make('password') },
  })
  await make(SECRETS, {
    metadata: { name: 'fixed' },
    immutable: true,
    stringData: { a: secrets.make('immutable') },
  })
  await make(ACCOUNTS, { metadata: { name: 'robot' } })
  const issued = await make(`${ACCOUNTS}/robot/token`, { spec: { expirationSeconds: 600 } })
  await make(SECRETS, {
    metadata: { name: 'token', annotations: { 'kubernetes.io/service-account.name': 'robot' } },
    type: 'kubernetes.io/service-account-token',
  })
  return [
    secrets.know('requested token', stringAt(issued, 'status', 'token')),
    secrets.know('token of a Secret', await filledToken(careless)),
  ]
}

/** The token that a controller writes into the Secret. */
async function filledToken({ admin }: Careless): Promise<string> {
  for (;;) {
    const { status, text } = await admin.call('GET', `${SECRETS}/token`)
    if (status !== 200) throw new Error(`the Secret of a token: ${status} ${text}`)
    const token = stringAt(JSON.parse(text), 'data', 'token')
    if (token !== '') return Buffer.from(token, 'base64').toString()
  }
}

/** Reads everything in several ways, and changes it. */
export async function useObjects(careless: Careless): Promise<void> {
  const { admin, secrets, settings } = careless
  const succeed = async (...[target, attempt]: [Target, Content?]): Promise<void> => {
    const { status, text } = await send(careless, admin, target, attempt)
    if (status >= 400) throw new Error(`${target.join(' ')}: ${status} ${text}`)
  }
  const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }
  const yaml = { accept: 'application/yaml' }
  for (const path of [SECRETS, `${SECRETS}/opaque`, CONFIG_MAPS, '/api/v1/secrets']) {
    for (const headers of [{}, table, yaml]) {
      await succeed(['GET', path], { headers })
    }
  }
  for (const path of [SECRETS, CONFIG_MAPS, '/api/v1/secrets']) {
    await succeed(['GET', `${path}?watch=true&timeoutSeconds=1`])
  }
  const patch = (path: string, type: string, body: unknown): Promise<void> =>
    succeed(['PATCH', `${path}?fieldManager=m`], { type, body })
  const opaque = `${SECRETS}/opaque`
  await patch(opaque, PATCHES.merge, { stringData: { m: secrets.make('merge patch') } })
  await patch(opaque, PATCHES.strategic, { stringData: { s: secrets.make('strategic patch') } })
  await patch(opaque, PATCHES.json, [
    { op: 'add', path: '/data/j', value: base64(secrets.make('JSON patch')) },
  ])
  await patch(`${SECRETS}/applied`, PATCHES.apply, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'applied' },
    stringData: { y: secrets.make('applied') },
  })
  const map = `${CONFIG_MAPS}/settings`
  await patch(map, PATCHES.merge, { data: { m: settings.make('patched setting') } })
  const { text } = await admin.call('GET', opaque)
  const whole = JSON.parse(text) as { data: Record<string, string> }
  whole.data['u'] = base64(secrets.make('update'))
  await succeed(['PUT', opaque], { body: whole })
  // Sent a second time, the request is a conflict.
  whole.data['u'] = base64(secrets.make('conflicting update'))
  await send(careless, admin, ['PUT', opaque], { body: whole })
  await succeed(['DELETE', `${SECRETS}/user`])
}
