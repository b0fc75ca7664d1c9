import { arrayAt, type Json, scalarText, stringAt, valueAt } from '../../lib/json.ts'
import type { CommandContext } from '../command/context.ts'
import { columns } from '../output/columns.ts'
import { jsonText } from '../output/documents.ts'
import type { ExitCode } from '../usage/exit-code.ts'

export interface ListFlags {
  readonly output?: string
  readonly quiet?: boolean
  readonly headers: boolean
}

/** `orchctl auth can-i --list`: all that is allowed in the namespace. */
export async function listRules(flags: ListFlags, context: CommandContext): Promise<ExitCode> {
  const { api, namespace } = await context.session()
  const review = await api.send({
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews',
    body: {
      ...{ apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview' },
      spec: { namespace },
    },
  })
  if (valueAt(review, 'status', 'incomplete') === true) {
    const why = stringAt(review, 'status', 'evaluationError')
    context.notice(`warning: the list may be incomplete: ${why}`)
  }
  if (flags.quiet === true) return 0
  if (flags.output === 'json') {
    context.print(jsonText(review, { isTerminal: true }))
    return 0
  }
  const rows = [
    ...arrayAt(review, 'status', 'resourceRules').flatMap(resourceRows),
    ...arrayAt(review, 'status', 'nonResourceRules').flatMap((rule) =>
      arrayAt(rule, 'nonResourceURLs').map((url) => {
        return ['', `[${scalarText(url)}]`, '[]', listText(rule, 'verbs')]
      }),
    ),
  ]
  const header = flags.headers
    ? [['Resources', 'Non-Resource URLs', 'Resource Names', 'Verbs']]
    : []
  const unique = new Map(rows.map((row) => [row.join('\0'), row]))
  const sorted = [...unique]
    .sort(([a], [b]) => (order(a) < order(b) ? -1 : 1))
    .map(([, row]) => row)
  context.print(columns([...header, ...sorted]))
  return 0
}

/** Resources first, then paths. */
function order(key: string): string {
  return key.startsWith('\0') ? `\uffff${key}` : key
}

function resourceRows(rule: Json): readonly (readonly string[])[] {
  const groups = arrayAt(rule, 'apiGroups')
  return arrayAt(rule, 'resources').flatMap((resource) =>
    groups.map((group) => {
      const name = scalarText(resource)
      const full = group === '' ? name : `${name}.${scalarText(group)}`
      return [full, '[]', listText(rule, 'resourceNames'), listText(rule, 'verbs')]
    }),
  )
}

function listText(rule: Json, field: string): string {
  return `[${arrayAt(rule, field).map(String).join(' ')}]`
}
