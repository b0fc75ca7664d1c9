import { html } from 'htm/preact'
import { useTheme } from './theme.ts'

/** Chooses the colours: those of the system, light, dark. */
export function ThemeButton() {
  const [theme, nextTheme] = useTheme()
  return html`<button type="button" class="theme" onClick=${nextTheme}>Colours: ${theme}</button>`
}
