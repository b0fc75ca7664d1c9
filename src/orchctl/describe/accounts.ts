import {
  arrayAt,
  type Json,
  type JsonObject,
  objectAt,
  scalarText,
  stringAt,
} from '../../lib/json.ts'
import { NAMES, TOKEN_SECRET_TYPES } from '../../resources/names.ts'
import { type Describer, unreadable } from './describer.ts'
import { byLabel, type Row } from './rows.ts'

/**
 * A ServiceAccount with its token Secrets. They are found among all Secrets of the namespace, because the account does
 * not name them.
 */
export const describeServiceAccount: Describer = async (account, related) => {
  const secrets = await related.list('secrets', stringAt(account, 'metadata', 'namespace'))
  const present = secrets.ok ? secrets.objects.map(nameOf) : undefined
  /** The names of the Secrets that a field of the account lists. */
  const named = (field: string): readonly string[] =>
    arrayAt(account, field).map((reference) => {
      const name = stringAt(reference, 'name')
      return present === undefined || present.includes(name) ? name : `${name} (not found)`
    })
  const isOwn = (secret: JsonObject): boolean =>
    TOKEN_SECRET_TYPES.includes(stringAt(secret, 'type')) &&
    NAMES.serviceAccount.some(
      (key) => stringAt(secret, 'metadata', 'annotations', key) === nameOf(account),
    )
  return [
    ['Image pull secrets', named('imagePullSecrets')],
    ['Mountable secrets', named('secrets')],
    ['Tokens', secrets.ok ? secrets.objects.filter(isOwn).map(nameOf) : unreadable(secrets.why)],
  ]
}

function nameOf(object: JsonObject): string {
  return stringAt(object, 'metadata', 'name')
}

/** A Secret with the sizes of its values, never the values themselves. */
export const describeSecret: Describer = (secret) => {
  const sizes = Object.entries(objectAt(secret, 'data')).map(([key, value]): Row => {
    const bytes = typeof value === 'string' ? Buffer.from(value, 'base64').length : 0
    return [key, `${bytes} bytes`]
  })
  return [
    ['Type', stringAt(secret, 'type')],
    ['Data', { rows: sizes.toSorted(byLabel) }],
  ]
}

/** A ConfigMap with the texts in `data`, and the sizes of the values in `binaryData`. */
export const describeConfigMap: Describer = (map) => {
  const texts = Object.entries(objectAt(map, 'data')).map(
    ([key, value]): Row => [key, { lines: scalarText(value).replace(/\n$/, '').split('\n') }],
  )
  const sizes = Object.entries(objectAt(map, 'binaryData')).map(
    ([key, value]): Row => [key, `${Buffer.from(scalarText(value), 'base64').length} bytes`],
  )
  return [
    ['Data', { rows: texts.toSorted(byLabel) }],
    ['BinaryData', { rows: sizes.toSorted(byLabel) }],
  ]
}

/** The rules of a Role or ClusterRole: a line for each resource of a rule, and one for a rule without resources. */
export const describeRole: Describer = (role) => {
  const rows = arrayAt(role, 'rules').flatMap((rule) => {
    const list = (field: string): string => `[${arrayAt(rule, field).map(scalarText).join(' ')}]`
    const otherColumns = [list('nonResourceURLs'), list('resourceNames'), list('verbs')]
    const resources = resourcesOf(rule)
    return (resources.length === 0 ? [''] : resources).map((resource) => [
      resource,
      ...otherColumns,
    ])
  })
  const header = ['Resources', 'Non-Resource URLs', 'Resource Names', 'Verbs']
  return [['PolicyRule', { table: [header, ...rows] }]]
}

/** Every resource of a rule in every API group of the rule: `pods`, `deployments.apps`. */
function resourcesOf(rule: Json): readonly string[] {
  return arrayAt(rule, 'apiGroups').flatMap((group) =>
    arrayAt(rule, 'resources').map(
      (resource) => `${scalarText(resource)}${group === '' ? '' : `.${scalarText(group)}`}`,
    ),
  )
}

/** The role of a RoleBinding or ClusterRoleBinding, and its subjects. */
export const describeBinding: Describer = (binding) => {
  const rows = arrayAt(binding, 'subjects').map((subject) =>
    ['kind', 'name', 'namespace'].map((field) => stringAt(subject, field)),
  )
  return [
    [
      'Role',
      {
        rows: [
          ['Kind', stringAt(binding, 'roleRef', 'kind')],
          ['Name', stringAt(binding, 'roleRef', 'name')],
        ],
      },
    ],
    ['Subjects', { table: [['Kind', 'Name', 'Namespace'], ...rows] }],
  ]
}
