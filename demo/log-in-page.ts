import { DEMO_USERS } from './users.js';

/**
 * The page for choosing a user.
 * @param action where the form is sent.
 */
export function logInPage(action: string): string {
  const users = DEMO_USERS.map(
    ({ name, who }) =>
      `<button name="user" value="${escape(name)}"><b>${escape(name)}</b> ${escape(who)}</button>`,
  );
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Log in to the demo</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 26rem; margin: 3rem auto; padding: 0 1rem }
  h1 { font-size: 1.4rem; margin: 0 }
  p { margin: .5rem 0 1.5rem; color: #555 }
  button { display: block; width: 100%; margin: .5rem 0; padding: .6rem .9rem; font: inherit; text-align: left;
    color: inherit; background: #fff; border: 1px solid #bbb; border-radius: .4rem; cursor: pointer }
  button:hover, button:focus { border-color: #2a6; background: #f3fbf6 }
  b { display: inline-block; min-width: 3rem }
</style>
<h1>Who are you?</h1>
<p>For development only: you are not asked for a password.</p>
<form method="post" action="${escape(action)}">
${users.join('\n')}
</form>
</html>
`;
}

/**
 * The page that ends the session immediately.
 * @param form the provider's form, with the id `op.logoutForm`.
 */
export function logOutPage(form: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Logging out</title>
${form}
<input type="hidden" name="logout" value="yes" form="op.logoutForm">
<script>document.forms[0].submit()</script>
</html>
`;
}

function escape(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
