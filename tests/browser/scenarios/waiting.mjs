// What waits for a person: answered from the list, in own words, approved, and rejected with a reason.

export default async function ({ visitor, given }) {
    const anna = await visitor();
    await anna.goes('/');
    const waiting = anna.in('Waiting for you');
    await waiting.sees('Which pot of paint?');
    await anna.picture('all that waits');

    await anna.withoutReloading(async () => {
        const bert = await visitor();
        await bert.goes('/');
        await bert.in('Waiting for you').presses('the blue one');
        // Whoever has the list open sees it without a reload.
        await anna.seesRow('case choice', 'completed, claimed');
    });
    await waiting.seesNo('button', 'the blue one');

    await anna.goes(`/sessions/${given.words}`);
    await anna.in('Question').types('Your answer', 'green, please');
    await anna.in('Question').presses('Answer');
    await anna.seesStatus('completed');
    await anna.in('Answer').sees('It is green.');

    await anna.goes(`/sessions/${given.approved}`);
    await anna.in('Question').sees('echo one');
    await anna.picture('before a step that waits for approval');
    await anna.in('Question').presses('Approve');
    await anna.seesStatus('completed');

    await anna.goes(`/sessions/${given.rejected}`);
    await anna.in('Question').types('Reason', 'not on a Friday');
    await anna.in('Question').presses('Reject');
    await anna.seesStatus('paused, rejected: not on a Friday');
    await anna.picture('rejected');

    await anna.goes('/');
    await anna.seesNo('heading', 'Waiting for you');
}
