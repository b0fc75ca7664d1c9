import { base64, type Careless, PATCHES, SECRETS, send } from './careless-clients.ts'

/** A write of a Secret that is refused: its method, path and content, given a value that it carries. */
type FailingWrite = readonly [
  method: string,
  path: string,
  contentOf: (value: string) => { readonly type?: string; readonly body: unknown },
]

const NEW = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'new' } }
const OPAQUE = `${SECRETS}/opaque`
const CONFIG_MAPS = SECRETS.replace('/secrets', '/configmaps')
const STRICT = `${SECRETS}?fieldValidation=Strict`
const STALE = { name: 'opaque', resourceVersion: '1' }

const json = (body: unknown) => ({ body })
const typed = (type: string, body: unknown) => ({ type, body })

const WRITES: Readonly<Record<string, FailingWrite>> = {
  'data that is no base64': ['POST', SECRETS, (value) => json({ ...NEW, data: { a: value } })],
  'data that is a list': ['POST', SECRETS, (value) => json({ ...NEW, data: [value] })],
  'data that is a text': ['POST', SECRETS, (value) => json({ ...NEW, data: value })],
  'data with a number': ['POST', SECRETS, (value) => json({ ...NEW, data: { a: [value, 1] } })],
  'stringData of objects': [
    'POST',
    SECRETS,
    (value) => json({ ...NEW, stringData: { a: { value } } }),
  ],
  'stringData that is a text': ['POST', SECRETS, (value) => json({ ...NEW, stringData: value })],
  'a field that is none': ['POST', STRICT, (value) => json({ ...NEW, password: value })],
  'a type that lacks its keys': [
    'POST',
    SECRETS,
    (value) => json({ ...NEW, type: 'kubernetes.io/tls', stringData: { 'tls.key': value } }),
  ],
  'a file of Docker that is none': [
    'POST',
    SECRETS,
    (value) =>
      json({
        ...NEW,
        type: 'kubernetes.io/dockerconfigjson',
        stringData: { '.dockerconfigjson': `{"auths": ${value}` },
      }),
  ],
  'a token Secret without its account': [
    'POST',
    SECRETS,
    (value) =>
      json({ ...NEW, type: 'kubernetes.io/service-account-token', stringData: { token: value } }),
  ],
  'an immutable flag that is a text': [
    'POST',
    SECRETS,
    (value) => json({ ...NEW, immutable: value }),
  ],
  'labels with the value': [
    'POST',
    SECRETS,
    (value) => json({ ...NEW, metadata: { name: 'new', labels: [value] } }),
  ],
  'too much': [
    'POST',
    SECRETS,
    (value) => json({ ...NEW, stringData: { a: value.repeat(40_000) } }),
  ],
  'JSON that ends early': [
    'POST',
    SECRETS,
    (value) => json(`{"kind":"Secret","stringData":{"a":${JSON.stringify(value)}`),
  ],
  'JSON behind the end': [
    'POST',
    SECRETS,
    (value) => json(`${JSON.stringify(NEW)} ${JSON.stringify(value)}`),
  ],
  'a text without quotes': ['POST', SECRETS, (value) => json(`{"stringData":{"a":${value}}}`)],
  'YAML that is none': [
    'POST',
    SECRETS,
    (value) => typed('application/yaml', `stringData:\n  a: "${value}\n b: [`),
  ],
  'YAML with an unknown tag': [
    'POST',
    SECRETS,
    (value) => typed('application/yaml', `stringData:\n  a: !!int ${JSON.stringify(value)}\n`),
  ],
  'protobuf that is none': [
    'POST',
    SECRETS,
    (value) => typed('application/vnd.kubernetes.protobuf', `k8s\0${value}`),
  ],
  'a content type that is none': ['POST', SECRETS, (value) => typed(`text/plain`, value)],
  'a Secret among ConfigMaps': [
    'POST',
    CONFIG_MAPS,
    (value) => json({ ...NEW, stringData: { a: value } }),
  ],
  'a ConfigMap with bytes that are none': [
    'POST',
    CONFIG_MAPS,
    (value) => json({ metadata: { name: 'new' }, binaryData: { a: value } }),
  ],
  'a name that exists': [
    'POST',
    SECRETS,
    (value) => json({ ...NEW, metadata: { name: 'opaque' }, stringData: { a: value } }),
  ],
  'another name than the path': [
    'PUT',
    OPAQUE,
    (value) => json({ ...NEW, stringData: { a: value } }),
  ],
  'an old version': [
    'PUT',
    OPAQUE,
    (value) => json({ ...NEW, metadata: STALE, data: { a: base64(value) } }),
  ],
  'another type': [
    'PUT',
    OPAQUE,
    (value) =>
      json({ ...NEW, metadata: { name: 'opaque' }, type: 'other', stringData: { a: value } }),
  ],
  'an immutable Secret': [
    'PATCH',
    `${SECRETS}/fixed`,
    (value) => typed(PATCHES.merge, { stringData: { a: value } }),
  ],
  'a merge patch of the wrong form': [
    'PATCH',
    OPAQUE,
    (value) => typed(PATCHES.merge, { data: { a: { b: value } } }),
  ],
  'a merge patch that ends early': [
    'PATCH',
    OPAQUE,
    (value) => typed(PATCHES.merge, `{"data":"${value}`),
  ],
  'a strategic patch of the wrong form': [
    'PATCH',
    OPAQUE,
    (value) => typed(PATCHES.strategic, { data: [{ $patch: value }] }),
  ],
  'a JSON patch whose test fails': [
    'PATCH',
    OPAQUE,
    (value) => typed(PATCHES.json, [{ op: 'test', path: '/data/a', value: base64(value) }]),
  ],
  'a JSON patch at a place that is none': [
    'PATCH',
    OPAQUE,
    (value) => typed(PATCHES.json, [{ op: 'replace', path: '/data/none/x', value }]),
  ],
  'a JSON patch with an operation that is none': [
    'PATCH',
    OPAQUE,
    (value) => typed(PATCHES.json, [{ op: 'put', path: '/data/a', value }]),
  ],
  'an apply without a manager': [
    'PATCH',
    OPAQUE,
    (value) => typed(PATCHES.apply, { ...NEW, stringData: { a: value } }),
  ],
  'an apply that conflicts': [
    'PATCH',
    `${OPAQUE}?fieldManager=other`,
    (value) =>
      typed(PATCHES.apply, { ...NEW, metadata: { name: 'opaque' }, data: { a: base64(value) } }),
  ],
  'an apply that is no YAML': [
    'PATCH',
    `${OPAQUE}?fieldManager=m`,
    (value) => typed(PATCHES.apply, `data: {a: "${value}`),
  ],
  'a token for an account that is none': [
    'POST',
    SECRETS.replace('/secrets', '/serviceaccounts/missing/token'),
    (value) => json({ spec: { audiences: [1], boundObjectRef: { uid: value } } }),
  ],
}

/** Sends writes that carry a value and are refused; the status of each by its name. */
export async function failToWrite(careless: Careless): Promise<Readonly<Record<string, number>>> {
  const statuses: Record<string, number> = {}
  for (const [name, [method, path, contentOf]] of Object.entries(WRITES)) {
    const content = contentOf(careless.secrets.make(name))
    const { status } = await send(careless, careless.admin, [method, path], content)
    statuses[name] = status
  }
  return statuses
}
