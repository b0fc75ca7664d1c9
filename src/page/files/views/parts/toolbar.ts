import { html } from 'htm/preact'
import type { Selection } from '../../grid/selection.ts'
import { formatCount } from '../../text/format.ts'

interface Props {
  readonly selection: Selection
  readonly select: (change: Partial<Pick<Selection, 'text' | 'onlyProblems'>>) => void
  /** The name of the rows, such as `Services`, and the placeholder of the filter. */
  readonly name: string
  readonly placeholder: string
  /** How many rows have a problem. */
  readonly problems: number
}

/** Chooses which rows of a table are shown. */
export function Toolbar({ selection, select, name, placeholder, problems }: Props) {
  const filter = (event: InputEvent) => select({ text: (event.target as HTMLInputElement).value })
  const restrict = (event: Event) =>
    select({ onlyProblems: (event.target as HTMLInputElement).checked })
  return html`<search class="toolbar">
    <label for="filter" class="visually-hidden">Filter the ${name}</label>
    <input
      id="filter"
      type="search"
      placeholder=${placeholder}
      autocomplete="off"
      spellcheck="false"
      value=${selection.text}
      onInput=${filter}
    />
    <label class="check">
      <input type="checkbox" checked=${selection.onlyProblems} onChange=${restrict} />
      Only problems (${formatCount(problems)})
    </label>
  </search>`
}
