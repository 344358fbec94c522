/** The viewer of OpenAPI documents, whose script the page loads before this one. */
declare const Scalar: { createApiReference(element: string, configuration: object): void };

// Everything comes from this service, and nothing goes elsewhere.
Scalar.createApiReference('#reference', {
  url: '/openapi.json',
  servers: [{ url: location.origin }],
  agent: { disabled: true },
  mcp: { disabled: true },
  telemetry: false,
  withDefaultFonts: false,
  showDeveloperTools: 'never',
  hideClientButton: true,
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
});

/** Adds what the viewer leaves out, and assistive software needs. */
function mend(): void {
  for (const editor of document.querySelectorAll('.cm-content:not([aria-label])')) editor.ariaLabel = 'Request body';
  for (const field of document.querySelectorAll('[role=combobox]:not([aria-expanded])')) field.ariaExpanded = 'false';
  for (const scroller of document.querySelectorAll<HTMLElement>('.cm-scroller[tabindex="-1"]')) scroller.tabIndex = 0;
  for (const button of document.querySelectorAll('[aria-controls]'))
    if (document.getElementById(button.getAttribute('aria-controls')!) === null)
      button.removeAttribute('aria-controls');
  for (const button of document.querySelectorAll('button[role=none]')) button.removeAttribute('role');
}
new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
