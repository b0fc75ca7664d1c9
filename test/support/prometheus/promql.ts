import { parser } from '@prometheus-io/lezer-promql'

/** One selector of series in an expression: `metric{label="value"}`. */
export interface Selector {
  readonly metric: string
  /** The labels by which it selects. */
  readonly labels: readonly string[]
}

export interface Promql {
  readonly selectors: readonly Selector[]
  /** The labels of its `by` and `on` clauses. */
  readonly groupings: readonly string[]
}

type Tree = ReturnType<typeof parser.parse>
type SyntaxNode = Tree['topNode']

/** What an expression of Prometheus selects and groups by. @throws Error where it is no expression */
export function readPromql(expr: string): Promql {
  const selectors: Selector[] = []
  const groupings: string[] = []
  const textOf = ({ from, to }: SyntaxNode): string => expr.slice(from, to)
  parser.parse(expr).iterate({
    enter({ type, node, from }) {
      if (type.isError) throw new Error(`not PromQL at ${from}: ${expr}`)
      if (type.name === 'GroupingLabels')
        groupings.push(...node.getChildren('LabelName').map(textOf))
      if (type.name !== 'VectorSelector') return
      const matchers = node.getChild('LabelMatchers')?.getChildren('UnquotedLabelMatcher') ?? []
      const names = matchers.map((matcher) => matcher.getChild('LabelName'))
      const metric = node.getChild('Identifier')
      selectors.push({
        metric: metric === null ? '' : textOf(metric),
        labels: names.flatMap((name) => (name === null ? [] : [textOf(name)])),
      })
    },
  })
  return { selectors, groupings }
}
