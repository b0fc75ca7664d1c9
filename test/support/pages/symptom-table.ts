import { sectionsOf } from './page-section.ts'

/** A row of the table of further symptoms. */
export interface SymptomRow {
  readonly symptom: string
  /** The command to run; empty: none. */
  readonly command: string
  /** A part of what it prints. */
  readonly shows: string
}

/** The table of a section with the columns symptom, cause, command, what it shows, what to do. */
export function symptomRows(page: string, heading: string): readonly SymptomRow[] {
  const section = sectionsOf(page).find((one) => one.heading === heading)
  const lines = section?.text.split('\n').filter((line) => line.startsWith('| ')) ?? []
  const cells = lines.slice(1).map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim()))
  return cells.map(([, symptom = '', , command = '', shows = '']) => ({
    symptom,
    command: codeIn(command),
    shows: codeIn(shows),
  }))
}

function codeIn(cell: string): string {
  return /^`([^`]+)`$/.exec(cell)?.[1] ?? ''
}
