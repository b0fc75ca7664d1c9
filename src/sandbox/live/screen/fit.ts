import type { Line } from './style.ts'

/** A part of the screen; of equal importance within itself, its last lines count least. */
export interface Section {
  readonly lines: readonly Line[]
  /** Left out as a whole where there is no room for all. */
  readonly optional?: boolean
  /** Grows into the room that is left: its lines when it has so many more. */
  readonly grow?: (more: number) => readonly Line[]
}

/**
 * The sections one below the other, in exactly `rows` lines or fewer. What has
 * no room goes in this order: optional sections, the blank lines between
 * sections, the last lines of the last section.
 */
export function fit(sections: readonly Section[], rows: number): readonly Line[] {
  const needed = sections.filter(({ optional }) => optional !== true)
  const shown = height(sections) <= rows ? sections : needed
  const spare = rows - height(shown)
  if (spare < 0) return needed.flatMap(({ lines }) => lines).slice(0, rows)
  return shown.flatMap(({ lines, grow }) => [...(grow?.(spare) ?? lines), []]).slice(0, -1)
}

/** Lines of all sections with one blank between two. */
function height(sections: readonly Section[]): number {
  return sections.reduce((sum, { lines }) => sum + lines.length + 1, -1)
}
